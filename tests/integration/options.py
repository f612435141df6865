#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every option of every command is in the manual and in the completions of bash, zsh and fish, and nothing else is.

    options.py BUILD

`airlock help COMMAND` is printed from the table that the parser reads; the others are held against it. Prints TAP.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tools"))
import tap  # noqa: E402  (lies in tools/)

EVERYWHERE = {"--help"}  # described once, in airlock(1)


def output_of(*command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **more).stdout


class Help:
    """What the program says about its commands."""

    def __init__(self, program):
        self.program = program
        self.commands = re.findall(r"^  ([a-z]+)  ", output_of(program, "help"), re.MULTILINE)

    def options(self, command):
        """Those it lists, and those it says it has from another command."""
        text = output_of(self.program, "help", command)
        listed = text.split("\nOptions:\n", 1)[1].split("\n\n", 1)[0]
        others = re.findall(r"also takes the options of airlock ([a-z]+)", text)
        return set(re.findall(r"^  (?:-., )? *(--[a-z-]+)", listed, re.MULTILINE)).union(*map(self.options, others))

    def verbs(self, command):
        return re.findall(rf"^(?:usage:|      ) airlock {command} ([a-z]+) ", output_of(self.program, "help", command), re.MULTILINE)


# ---- the manual

def described(page):
    """The options that have an entry under OPTIONS, and whether airlock-run(1) is said to have more."""
    text = re.sub(".\x08", "", output_of("mandoc", "-Tascii", "-O", "width=1000", str(page)))
    section = re.search(r"^OPTIONS$(.*?)^[A-Z]", text, re.MULTILINE | re.DOTALL)
    lines = section[1].splitlines() if section else []
    entries = [line for line in lines if re.match(r" {5,9}--?[a-zA-Z]", line)]
    others = " ".join(line for line in lines if line not in entries)
    return set(re.findall(r"--[a-z-]+", " ".join(entries))), "airlock-run(1)" in others


def page_faults(page, options, of_run):
    if not page.exists():
        yield f"there is no {page.name}"
        return
    entries, as_run = described(page)
    for name in sorted(options - entries - EVERYWHERE - (of_run if as_run else set())):
        yield f"{name} is not in {page.name}"
    for name in sorted(entries - options):
        yield f"{name} is in {page.name} only"


# ---- the completions

def bash_options(script, places):
    """{"command.verb": options} as the script's own function tells them."""
    calls = "\n".join(f'echo "{command}.{verb} $(_airlock_options "{command}" "{verb}")"' for command, verb in places)
    told = output_of("bash", "--norc", "-c", f"{script}\n{calls}")
    return {place: {word for word in words if word.startswith("--")} for place, *words in map(str.split, told.splitlines())}


def zsh_options(script, places):
    found = {}
    for command, verb in places:
        function = re.search(rf"^_airlock_{command}{'_' + verb if verb else ''}\(\) {{\n(.*?)^}}", script, re.MULTILINE | re.DOTALL)
        lines = function[1].splitlines() if function else []
        heads = [line.partition("[")[0] for line in lines]  # before the description
        found[f"{command}.{verb}"] = set(re.findall(r"--[a-z][a-z-]*", " ".join(heads)))
    return found


def fish_options(script, places):
    """What fish really offers after "airlock COMMAND VERB --"."""
    asks = "\n".join(f"echo '@ {command}.{verb}'; complete -C 'airlock {command} {verb + ' ' if verb else ''}--'"
                     for command, verb in places)
    found, here = {}, None
    for line in output_of("fish", "--no-config", "-c", f"{script}\n{asks}").splitlines():
        if line.startswith("@ "):
            here = found.setdefault(line[2:], set())
        elif line.startswith("--"):
            here.add(line.split("\t")[0].rstrip("="))
    return found


def differences(what, expected, found):
    for name in sorted(expected - found):
        yield f"{what}: {name} is missing"
    for name in sorted(found - expected):
        yield f"{what}: {name} is not an option of it"


def main(build):
    out = tap.Writer()
    program = Path(build, "airlock")
    tell = Help(program)
    options = {command: tell.options(command) for command in tell.commands}
    out.test("commands and options were found", [] if len(options) > 20 and len(options["run"]) > 25 else [str(options)])

    pages = Path(build, "docs/man")
    if not shutil.which("mandoc") or not pages.is_dir():
        out.test("the manual # skip needs: mandoc and scdoc")
    else:
        for command in tell.commands:
            out.test(f"airlock-{command}(1)", page_faults(pages / f"airlock-{command}.1", options[command], options["run"]))

    verbs = {command: tell.verbs(command) for command in tell.commands}
    alone = [(command, "") for command in tell.commands if not verbs[command]]
    with_verb = [(command, verb) for command in tell.commands for verb in verbs[command]]
    out.test("second words were found", [] if len(with_verb) > 10 else [str(with_verb)])
    offered = {}
    for shell, ask in (("bash", bash_options), ("zsh", zsh_options), ("fish", fish_options)):
        if not shutil.which(shell):
            out.test(f"{shell} # skip needs: {shell}")
            continue
        offered[shell] = ask(output_of(program, "completion", shell), alone + with_verb)
        out.test(f"{shell} completes every option of a command, and no other",
                 [fault for command, verb in alone for fault in differences(command, options[command], offered[shell][f"{command}."])])
        # fish's conditions do not look at second words for options.
        if shell != "fish":
            out.test(f"{shell}: second words have the options of their command, shared out among them", [
                fault for command in tell.commands if verbs[command] for fault in differences(
                    command, options[command], set().union(*(offered[shell][f"{command}.{verb}"] for verb in verbs[command])))])
    out.test("bash and zsh agree about second words", [
        fault for command, verb in with_verb if "bash" in offered and "zsh" in offered
        for fault in differences(f"{command} {verb} in zsh", offered["bash"][f"{command}.{verb}"], offered["zsh"][f"{command}.{verb}"])])
    return out.finish()


if __name__ == "__main__":
    os.environ["HOME"] = os.environ.get("TMPDIR", "/tmp")
    sys.exit(main(sys.argv[1]))
