# SPDX-License-Identifier: LGPL-2.1-or-later
"""The ways in which airlock is put in front of an agent, or around it."""
import socket

from programs import run_command


class Way:
    NAME, options = None, ()

    def set_up(self, world):
        """None, or why it cannot be done."""
        name = world.agent.SETUP or world.agent.NAME
        done = world.run_airlock("setup", name, *self.options)
        world.said = done.stdout + done.stderr
        return None if done.returncode == 0 else " ".join(world.said.split())[:200]

    def fits(self, agent):
        return True

    HOLDS = False  # what is changed waits for a person

    def command(self, world, model, path, arguments, env):
        """What starts the agent."""
        return [path, *arguments, *self.arguments(world)]

    def arguments(self, world):
        return []

    def shell(self, agent, command, **options):
        return agent.shell(command, **options)

    def faults(self, agent):
        return {}

    def files(self, agent):
        """Its configuration, below the home."""
        return FILES.get((agent.NAME, self.NAME), ())


class Setup(Way):
    """`airlock setup AGENT`."""
    NAME = "setup"

    def fits(self, agent):
        return agent.HAS_WAY

    def arguments(self, world):
        # A hook that nobody trusted yet is what the column "fail closed" is about.
        return ["--dangerously-bypass-hook-trust"] if world.agent.NAME == "codex" and not getattr(world, "untrusted", False) else []

    def faults(self, agent):
        def distrust(world):
            world.untrusted = True
        return {"not trusted": distrust} if agent.NAME == "codex" else {}


class Mcp(Way):
    """`airlock setup AGENT --mcp`: airlock's tools instead of the agent's own shell."""
    NAME, options = "mcp", ("--mcp",)

    def fits(self, agent):
        return agent.HAS_MCP

    def shell(self, agent, command, **options):
        return run_command(command)


class Inside(Way):
    """`airlock agent AGENT`: the whole agent in a sandbox. Its model is reached at this machine's own address."""
    NAME, HOLDS, SESSION = "inside", True, "inside"

    def set_up(self, world):
        world.address = own_address()
        return None if world.address else "this machine has no address but loopback"

    def command(self, world, model, path, arguments, env):
        allow_model(world, f"{world.address}:{model.port}")
        world.env["PATH"] = f"{path.parent}:{world.env['PATH']}"
        passed = [word for name in world.agent.environment(model) for word in ("--env", name)]
        return [world.airlock, "agent", world.agent.NAME, "--session", self.SESSION, *passed, "--", *arguments]


def own_address():
    """Of this machine, other than loopback; nothing is sent to find it. None: it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect(("192.0.2.1", 9))
            address = one.getsockname()[0]
        except OSError:
            return None
    return None if address.startswith("127.") else address


def allow_model(world, address):
    path = world.home / ".config/airlock/config.toml"
    old = path.read_text() if path.exists() else ""
    rules = f'[network]\nallow = ["{address}"]\nallow_private = ["{address}"]\n'
    world.write(".config/airlock/config.toml", old.replace("[network]\n", rules) if "[network]" in old else old + rules)


FILES = {("claude", "setup"): (".claude/settings.json",), ("codex", "setup"): (".codex/hooks.json",),
         ("gemini", "setup"): (".gemini/settings.json",), ("opencode", "setup"): (".config/opencode/opencode.json",),
         ("qwen", "setup"): (".qwen/settings.json",), ("pi", "setup"): (".pi/agent/settings.json",),
         ("gemini", "mcp"): (".gemini/settings.json",), ("qwen", "mcp"): (".qwen/settings.json",),
         ("opencode", "mcp"): (".config/opencode/opencode.json",),
         ("copilot", "mcp"): (".copilot/mcp-config.json",)}

WAYS = (Setup(), Mcp(), Inside())


class Plain(Way):
    """Without airlock: what the agent does by itself, to compare with."""
    NAME = "plain"

    def set_up(self, world):
        return None
