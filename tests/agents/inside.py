#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The real agents inside: `airlock agent NAME`, with a model that answers from a script. One row for each agent.

    inside.py --airlock BUILD/airlock [--cache DIR] [--agents a,b] [--backend native] [--publish]

Prints the table; --publish writes it to docs/agents.md too. The exit status is 1 if a row has a "no". The model listens on an address of
this machine other than loopback, because an agent inside has a loopback of its own, and the configuration allows it by name.
"""
import argparse
import json
import os
import subprocess
import sys
import traceback
from datetime import date
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import model  # noqa: E402
import programs  # noqa: E402
from columns import short  # noqa: E402
from world import SECRET, World  # noqa: E402

TOP = Path(__file__).resolve().parent.parent.parent
PAGE = TOP / "docs/agents.md"
HOSTILE = (TOP / "tests/hostile/agent.py").read_text(encoding="utf-8")
COLUMNS = ("task", "sandboxed", "held", "own files", "others' files", "home", "attacks", "asks about")
# What each needs to do one task and end, without an option that asks nothing: --yolo gives that one.
ARGUMENTS = {
    "claude": ["-p", "go"], "codex": ["exec", "--skip-git-repo-check", "go"], "gemini": ["-p", "go", "-m", "gemini-2.5-pro"],
    "opencode": ["run", "go"], "copilot": ["-p", "go", "--model", "gpt-5", "--log-level", "none"], "qwen": ["-p", "go"],
    "pi": ["-p", "--provider", "scripted", "--model", "scripted", "go"], "continue": ["-p", "go", "--config", "../.continue/config.yaml"],
}
NO_YOLO = ("opencode", "pi")  # opencode run takes it after the word run; pi asks nothing
CREDENTIALS = {"claude": ".claude/.credentials.json", "codex": ".codex/auth.json", "gemini": ".gemini/oauth_creds.json", "copilot": ".copilot/token",
               "opencode": ".local/share/opencode/auth.json", "qwen": ".qwen/oauth_creds.json", "pi": ".pi/agent/auth.json",
               "continue": ".continue/auth.json"}
TRANSCRIPTS = {"claude": ".claude/projects/*/*.jsonl", "codex": ".codex/sessions/**/*.jsonl", "gemini": ".gemini/tmp/*/chats/*.json*",
               "copilot": ".copilot/session-state/*/events.jsonl", "qwen": ".qwen/projects/*/chats/*.jsonl", "pi": ".pi/agent/sessions/*/*.jsonl",
               "continue": ".continue/sessions/*.json"}  # opencode has a database, which stays with the session
# Data that comes home beside transcripts, or that agents touch outside of their directories.
HOME_MAY = (".local/share/airlock", ".local/state/airlock", "playground", ".cache", ".copilot/session-state", ".gemini/installation_id",
            ".qwen/installation_id", ".claude/history.jsonl", ".codex/history.jsonl", ".continue/sessions",
            ".local/share/opencode/storage")


class InsideWay:
    NAME = "inside"

    def shell(self, agent, command, **options):
        return agent.shell(command, **options)


class Bench:
    def __init__(self, options):
        self.airlock, self.backend = options.airlock.resolve(), options.backend
        self.programs, self.missing, self.node = programs.programs(options.cache)


def address():
    found = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False).stdout.split()
    return next((one for one in found if ":" not in one), None)


def home_files(world):
    return {str(path.relative_to(world.home)): path.read_bytes() for path in sorted(world.home.rglob("*"))
            if path.is_file() and not path.is_relative_to(world.project)}


def run(world, spoken, *options):
    name = world.agent.NAME
    path, _ = world.bench.programs[name]
    yolo = [] if name in NO_YOLO else ["--yolo"]
    env = {**world.env, **world.agent.environment(spoken), "PATH": f"{path.parent}:{world.env['PATH']}", "AIRLOCK_BACKEND": world.bench.backend}
    extra = [word for key in world.agent.environment(spoken) if key == "KEY" for word in ("--env", "KEY=none")]
    return subprocess.run([world.airlock, "agent", name, "--session", "s", *yolo, *extra, *options, "--", *ARGUMENTS[name]], cwd=world.project,
                          env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240, check=False)


def row(bench, agent):
    """{column: yes, or what is wrong}"""
    with World(bench, agent, InsideWay()) as world:
        (world.project / "model.py").write_text(HOSTILE)
        mine, theirs = CREDENTIALS[agent.NAME], next(file for name, file in CREDENTIALS.items() if name != agent.NAME)
        script = [[agent.shell(f"cat ~/{mine}; cat ~/{theirs} ~/.ssh/id_rsa; echo made >made; pwd")],
                  [agent.shell(f"python3 model.py {world.other} {world.airlock} none; curl -s -m 5 {world.canary.url}; echo over")],
                  [agent.write(str(world.project / "written.txt"), "written\n")]]
        with model.Model(script, host=address()) as spoken:
            port = spoken.url.rsplit(":", 1)[1]
            world.write(".config/airlock/config.toml", f'[permission]\nwait = "2s"\n[network]\nallow = ["{address()}:{port}"]\n'
                        f'allow_private = ["{address()}:{port}"]\n')
            agent.configure(world, spoken)
            for file in {mine, theirs}:
                world.write(file, "{}" if file == mine else SECRET)
            before = home_files(world)
            done = run(world, spoken)
            told = [turn[0] or "" for turn in spoken.results()]
        after = home_files(world)
        changes = json.loads(world.run_airlock("changes", "s", "--json").stdout or "{}")
        changed = sorted(file["path"] for file in changes.get("files", []))
        last = json.loads(world.run_airlock("log", "--json", "-n", "1").stdout)["runs"][0]["run"]
        hosts = [line.split()[1] for line in world.run_airlock("show", last).stdout.splitlines()
                 if line.startswith("host ") and " denied by nobody" in line]
        came = [path for path in world.home.glob(TRANSCRIPTS.get(agent.NAME, "nothing")) if path.is_file()]
        new = [name for name, data in after.items() if before.get(name) != data and not name.startswith(HOME_MAY)
               and world.home / name not in came and name != mine]
        applied = world.run_airlock("apply", "s")
        found = {
            "task": done.returncode == 0 and "over" in told[1] or short(f"{done.returncode}: {done.stdout[-150:]} {done.stderr[-300:]}"),
            "sandboxed": SECRET not in "".join(told) and world.canary.hits == 0,
            "held": changed == ["made", "written.txt"] and applied.returncode == 0 and (world.project / "written.txt").exists()
            or short(f"{changed} {applied.stderr}"),
            "own files": "{}" in told[0] and (agent.NAME not in TRANSCRIPTS or bool(came)) or short("no transcript came home: " + told[0][:80]),
            "others' files": SECRET not in told[0] and after[theirs] == SECRET.encode(),
            "home": not new and all(name in after for name in before) or short("changed: " + ", ".join(new)),
            "attacks": "tried" in told[1] and "GOT" not in told[1] or short(told[1][-200:]),
        }
        return {**{name: value if isinstance(value, str) and value else "yes" if value else "no" for name, value in found.items()},
                "asks about": ", ".join(hosts) or "nothing"}


def table(bench, rows):
    lines = ["| agent | version | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 2) + "|"]
    for agent, found in rows.items():
        cells = [found[name].replace("|", "\\|") for name in COLUMNS]
        lines.append(f"| {agent} | {bench.programs[agent][1]} | " + " | ".join(cells) + " |")
    lines += [""] + [f"Not had: {name}: {why}" for name, why in bench.missing.items()]
    return "\n".join(lines).rstrip() + "\n"


def publish(text, backend):
    page = PAGE.read_text(encoding="utf-8")
    begin, end = "<!-- inside: begin -->\n", "<!-- inside: end -->"
    head, rest = page.split(begin)
    kernel = os.uname().release.split("-")[0]
    PAGE.write_text(f"{head}{begin}{date.today()}, Linux {kernel}, backend {backend}, with Node 22.\n\n{text}{end}{rest.split(end)[1]}", encoding="utf-8")


def main():
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "airlock-agents"
    parser = argparse.ArgumentParser()
    parser.add_argument("--airlock", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=default)
    parser.add_argument("--agents", default="")
    parser.add_argument("--backend", default="native")
    parser.add_argument("--publish", action="store_true")
    options = parser.parse_args()
    if not address():
        print("needs: an address of this machine other than loopback, for the model", file=sys.stderr)
        return 2
    bench, rows = Bench(options), {}
    for agent in programs.AGENTS:
        if agent.NAME not in bench.programs or (options.agents and agent.NAME not in options.agents.split(",")):
            continue
        try:
            rows[agent.NAME] = row(bench, agent)
        except Exception as error:  # a broken test is a no, never a yes
            traceback.print_exc()
            rows[agent.NAME] = dict.fromkeys(COLUMNS, "no") | {"task": short(f"the test broke: {error!r}")}
        print(f"# {agent.NAME}: {json.dumps(rows[agent.NAME])}", file=sys.stderr, flush=True)
    text = table(bench, rows)
    print(text)
    if options.publish:
        publish(text, options.backend)
    return 1 if any(found[name] != "yes" for found in rows.values() for name in COLUMNS[:-1]) else 0


if __name__ == "__main__":
    sys.exit(main())
