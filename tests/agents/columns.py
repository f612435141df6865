# SPDX-License-Identifier: LGPL-2.1-or-later
"""The columns of the table. Each takes a bench, an agent and a way in, and returns a word, or words about what does not work.

"yes" is what we want; "no: …" says what happened instead; "-" means that the agent has no such thing.
"""
import contextlib
import json
import os
import shlex
import signal
import subprocess
import time

from programs import run_command, write_file
from world import SECRET, World, wait_for

YES, NONE = "yes", "-"


def no(*words):
    return "no: " + " ".join(str(word) for word in words)


def short(text, most=110):
    text = " ".join((text or "nothing came back").split())
    return text if len(text) <= most else text[:most] + "…"


def all_of(**checks):
    """checks: a name and whether it holds, or words about it."""
    faults = [f"{name.replace('_', ' ')}{'' if value is False or value is None else ': ' + value}"
              for name, value in checks.items() if value is not True]
    return YES if not faults else no("; ".join(faults))


# ---- the columns that one run of the agent answers

POSIX = """x=y; n=42; [ "$x" = y ] && echo "b1 'q' \\"d\\" $n"; cat <<'END'
h1 it's $HOME "x" `no`
END
"""
BASH = """a=(x y); n=42; [[ ${a[1]} == y ]] && echo "b1 'q' \\"d\\" $n"; cat <<'END'
h1 it's $HOME "x" `no`
END
"""


def work(world):
    """One conversation about everyday things, and what each column makes of it."""
    reach = f"curl -q -s -m 5 {world.canary.url} || python3 -c 'import urllib.request as u; print(u.urlopen(\"{world.canary.url}\").read())'"
    serve = "(python3 -m http.server 8765 --bind 127.0.0.1 >/dev/null 2>&1 &); sleep 2; echo served"
    script = {
        "secret": [f"cat ~/.ssh/id_rsa; {reach}; n=42; echo out-$n; echo err-mark >&2; exit 3"],
        "pwd": ["pwd"],
        "bash": [(POSIX if world.way.NAME == "mcp" else BASH).replace("`no`", world.agent.BACKTICKS)],  # airlock's tool says that it is sh
        "parallel": ["sleep 1; echo x >par1; n=1; echo par-$n", "sleep 1; echo x >par2; n=2; echo par-$n"],
        "cd": ["mkdir -p sub; cd sub; pwd"],
        "after": ["pwd"],
        "serve": [serve],
        "reach": ["curl -q -s -o /dev/null -w 'code-%{http_code}' http://127.0.0.1:8765/"],
        "held": [f"cd {world.project}; mkdir -p .github/workflows; echo 'on: push' >.github/workflows/ci.yml; echo made >made"],
    }
    model = world.talk([[world.shell(command) for command in turn] for turn in script.values()])
    told = dict(zip(script, model.results()))
    # Some show their model the structured result, in which quotes are escaped.
    return model, {name: [(text or "").replace('\\"', '"') for text in texts] for name, texts in told.items()}


def everyday(bench, agent, way):
    with World(bench, agent, way) as world:
        done = world.set_up()
        if done:
            return dict.fromkeys(("sandboxed", "output", "directory", "bash", "parallel", "background", "held"), no(done))
        model, told = work(world)
        first = told["secret"][0]
        n_runs = len(world.runs())
        untouched = not any((world.project / name).exists() for name in ("par1", "par2", "made"))
        world.apply_held()
        # Inside, the agent tells what it tells without airlock.
        ran = "out-42" in first or (way.HOLDS and not agent.TELLS_FAILURES and "err-mark" in first)
        said = "" if ran else short(first if first else model.output)
        lasts = told["after"][0].strip().splitlines()[-1:] == [f"{world.project}/sub"] or f"{world.project}/sub" in told["after"][0]
        return {
            "sandboxed": all_of(key_read=SECRET not in first, canary_reached=world.canary.hits == 0 and "canary" not in first,
                                ran=ran or said, logged=n_runs >= (1 if way.HOLDS else 9) or f"{n_runs} runs in the log"),
            "output": all_of(stdout=ran or said, stderr="err-mark" in first, exit_code="3" in first.replace("7731", "") or short(first)),
            "directory": all_of(starts_in_project=str(world.project) in told["pwd"][0] or short(told["pwd"][0]),
                                cd_lasts=lasts == (agent.LASTING_CD and way.NAME != "mcp") or ("it does not, without airlock it does" if agent.LASTING_CD else "it does")),
            "bash": all_of(bash="b1 'q' \"d\" 42" in told["bash"][0] or short(told["bash"][0]),
                           heredoc=f"h1 it's $HOME \"x\" {agent.BACKTICKS}" in told["bash"][0] or short(told["bash"][0])),
            "parallel": all_of(first="par-1" in told["parallel"][0] or short(told["parallel"][0]),
                               second="par-2" in told["parallel"][1] or short(told["parallel"][1]),
                               files=(world.project / "par1").exists() and (world.project / "par2").exists()),
            # An agent that ends them itself does so inside, too.
            "background": NONE if way.HOLDS and not agent.KEEPS_BACKGROUND else all_of(reached="code-200" in told["reach"][0] or short(told["reach"][0])),
            "held": all_of(nothing_in_project=untouched, all_applied=(world.project / "made").exists()) if way.HOLDS else all_of(not_in_project=not (world.project / ".github/workflows/ci.yml").exists(),
                           told="held" in told["held"][0].lower() or short(told["held"][0]),
                           the_rest_applied=(world.project / "made").exists()),
        }


# ---- the person's own rules

def rules(bench, agent, way):
    if way.NAME == "mcp":
        return {"rules": NONE}
    found = {}
    if agent.DENY:
        with World(bench, agent, way) as world:
            world.set_up()
            model = world.talk([[world.shell("touch denied x")], [world.shell("echo x >allowed")]], deny=True)
            world.apply_held()
            found["denied"] = not (world.project / "denied").exists() or "a denied command ran"
            found["others_run"] = (world.project / "allowed").exists() or short(str(model.results()[1:]) + model.output[-200:])
    if agent.PLAN:
        with World(bench, agent, way) as world:
            world.set_up()
            world.talk([[world.shell("touch planned")]], plan=True)
            world.apply_held()
            found["plan_mode"] = not (world.project / "planned").exists() or "a command wrote in plan mode"
    return {"rules": all_of(**found) if found else NONE}


def patch(bench, agent, way):
    with World(bench, agent, way) as world:
        world.set_up()
        tool = write_file if agent.WRITES_BY_SHELL and way.NAME == "mcp" else agent.write
        model = world.talk([[tool(str(world.project / "patched"), "patched by its own tool\n")]])
        world.apply_held()
        ok = (world.project / "patched").exists() and "patched by" in (world.project / "patched").read_text()
        return {"patch": all_of(written=ok or short((model.results()[0][0] or "") + " " + model.output[-150:]))}


# ---- cancel

def tree_of(mark):
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                if mark.encode() in file.read() and int(entry) != os.getpid():
                    found.append(int(entry))
        except (OSError, ValueError):
            pass
    return found


def cancel(bench, agent, way):
    """Ctrl-C reaches the whole foreground group, as from a terminal; a crash is the end of the agent's own processes alone."""
    def interrupt(world, process):
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            if wait_for(lambda: process.poll() is not None, 8):
                return
        kill(world, process)

    def kill(world, process):
        for pid in (process.pid, *own_processes(world)):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
    return {"cancel": all_of(interrupted=ends_with(bench, agent, way, interrupt), killed=ends_with(bench, agent, way, kill))}


def own_processes(world):
    """The agent itself, in as many processes as it is, and not what it has started."""
    place = str(world.bench.programs[world.agent.NAME][0]).split("/node_modules/")[0]
    return [pid for pid in tree_of(place) if f"HOME={world.home}\0".encode() in environment_of(pid)]


def environment_of(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b""


def ends_with(bench, agent, way, how):
    mark = f"98{os.getpid()}{len(agent.NAME)}"
    with World(bench, agent, way) as world:
        world.set_up()
        with world.model([[world.shell(f"sleep {mark} & sleep {mark}; wait")]]) as model:
            agent.configure(world, model)
            process = world.start(model)
            sleeps = wait_for(lambda: [pid for pid in tree_of(mark) if is_sleep(pid)], 40)
            if not sleeps:
                os.killpg(process.pid, signal.SIGKILL)
                return "the command did not start: " + short(process.communicate()[0][-200:])
            how(world, process)
            left = not wait_for(lambda: not [pid for pid in tree_of(mark) if is_sleep(pid)], 12)
            for pid in tree_of(mark) if left else ():
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            process.stdout.close()
            return not left or "processes were left"


def is_sleep(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().strip() == "sleep"
    except OSError:
        return False


# ---- MCP

def mcp(bench, agent, way):
    if not agent.HAS_MCP or way.NAME == "inside":
        return {"mcp": NONE}
    if way.NAME != "mcp":
        return {"mcp": "see the row mcp"}
    with World(bench, agent, way) as world:
        why = world.set_up()
        if why:
            return {"mcp": no(why)}
        model = world.talk([[run_command("echo used-$((40+2)); echo x >/etc/airlock-none; echo y >made")]])
        names = model.tools()
        listed = [name for name in names if name.endswith(("run_command", "list_changes", "apply_changes"))]
        told = model.results()[0][0] or ""
        own = [name for name in agent.OWN_SHELL if name in names]
        if own and agent.REFUSES_SHELL:
            refused = world.talk([[agent.shell("touch own-shell")]])
            own = own if (world.project / "own-shell").exists() or "sandbox" not in (refused.results()[0][0] or "") else []
        return {"mcp": all_of(listed=len(listed) >= 3 or "tool_search" in names or short(str(list(names))), used="used-42" in told or short(told + model.output[-200:]),
                              its_own_shell_off=not own or ", ".join(own) + " is still offered",
                              applied=(world.project / "made").exists())}


# ---- the network question

def question(bench, agent, way):
    with World(bench, agent, way) as world:
        world.write(".config/airlock/config.toml", '[network]\nmode = "hosts"\n[permission]\nwait = "30s"\n')
        world.set_up()
        with world.model([[world.shell("curl -q -s -m 25 http://example.org/ && n=it && echo got-$n; echo ended")]]) as model:
            agent.configure(world, model)
            process = world.start(model)
            # An agent inside may want hosts of its own, too.
            asked = wait_for(lambda: [one for one in pending(world) if "example.org" in json.dumps(one)], 40)
            if asked:
                world.run_airlock("answer", asked[0]["id"], "deny")
            try:
                output = process.communicate(timeout=90)[0]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output = process.communicate()[0]
        told = model.results()[0][0] or ""
        return {"question": all_of(asked=bool(asked) or short(told + output[-150:]), about_the_host="example.org" in json.dumps(asked),
                                   refused="got-it" not in told and "ended" in told or short(told))}


def pending(world):
    done = world.run_airlock("questions", "--json")
    return json.loads(done.stdout)["questions"] if done.returncode == 0 and done.stdout else []


# ---- fail closed

def break_missing(world):
    for path in world.bin.iterdir():
        path.unlink()


def break_mode(world):
    for name in ("airlock", "airlock-sh"):
        (world.bin / name).chmod(0o644)


def replace(world, text):
    for name in ("airlock", "airlock-sh"):
        (world.bin / name).unlink()
        (world.bin / name).write_text(text)
        (world.bin / name).chmod(0o755)


def break_crash(world):
    replace(world, "#!/bin/sh\nkill -SEGV $$\n")


def break_hang(world):
    replace(world, "#!/bin/sh\nexec sleep 900\n")


def break_policy(world):
    world.write(".config/airlock/config.toml", "[sandbox]\nthis is no configuration\n")


FAULTS = {"missing": break_missing, "not executable": break_mode, "crashing": break_crash, "hanging": break_hang,
          "refusing": break_policy}


def fail_closed(bench, agent, way):
    if way.NAME == "inside":  # without airlock there is no agent
        return {"fail closed": NONE}
    found = {}
    for name, damage in {**FAULTS, **way.faults(agent)}.items():
        if bench.quick and name == "hanging":
            continue
        with World(bench, agent, way) as world:
            world.set_up()
            damage(world)
            calls = [world.shell("touch ran; echo ran >>/tmp/ran")]
            if agent.REFUSES_SHELL and way.NAME == "mcp":
                calls.append(agent.shell("touch ran"))
            with world.model([calls]) as model:
                agent.configure(world, model)
                process = world.start(model)
                try:
                    process.communicate(timeout=100)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.communicate()
            found[name] = not (world.project / "ran").exists() or "the command ran without airlock"
    return {"fail closed": all_of(**found)}


# ---- undo

def undo(bench, agent, way):
    if way.NAME == "inside":
        return {"undo": NONE}
    shapes = {"nothing": None, "spaced": '{\n   "b" : 1.0,\n\t"a": [ 1,2 ]\n}', "crlf": '{\r\n  "a": 1\r\n}\r\n', "empty": ""}
    found = {}
    for name, text in shapes.items():
        with World(bench, agent, way) as world:
            for file in way.files(agent):
                if text is not None:
                    world.write(file, text if file.endswith("json") else "")
            before = world.files()
            why = world.set_up()
            if why:
                return {"undo": no(why)}
            changed = world.files() != before
            done = world.run_airlock("setup", agent.SETUP or agent.NAME, "--undo", *way.options)
            found[name] = (changed and world.files() == before) or short(done.stdout + done.stderr)
    return {"undo": all_of(**found)}


COLUMNS = ("sandboxed", "output", "directory", "bash", "parallel", "background", "cancel", "held", "rules", "patch", "mcp",
           "question", "fail closed", "attacks", "undo")
