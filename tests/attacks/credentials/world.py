"""A home with credentials of every kind, and the search for them."""

from pathlib import Path
from typing import Any

from desktop_agent import Agent, ModelRef, RunFailedError
from tests.attacks.credentials.sweep import found_below, found_in
from tests.command_line import CommandLine, Ran
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.chat import CHAT, OPENROUTER
from tests.servers.dialects.dialect import Dialect
from tests.servers.dialects.responses import RESPONSES
from tests.servers.script import Answer, reply, text, thinking, tool_use

GATEWAY_HEADER = "brisk+Meadow/2260=copper-lantern"

KEYS = {
    "ANTHROPIC_API_KEY": "amber-Lighthouse-0417-pelican-drift",
    "OPENAI_API_KEY": "sk-proj-velvet0Harbour7731thistle9marrow",
    "OPENROUTER_API_KEY": "silent.Orchard.5502.granite~willow",
    "XAI_API_KEY": "xai-hollow9Comet3318juniper7saddle",
    "ANTHROPIC_CUSTOM_HEADERS": f"X-Gateway: Bearer {GATEWAY_HEADER}\nX-Team: pine-Marten-8841-gazelle-orbit",
}
"""The environment. Half of the keys have no recognisable shape."""

SPOKEN: dict[str, tuple[Dialect, str]] = {
    "anthropic": (ANTHROPIC, "ANTHROPIC_API_KEY"),
    "openai": (RESPONSES, "OPENAI_API_KEY"),
    "openai-chat": (CHAT, "OPENAI_API_KEY"),
    "openrouter": (OPENROUTER, "OPENROUTER_API_KEY"),
    "xai": (RESPONSES, "XAI_API_KEY"),
}

PROGRAM = "import os, pathlib; print(dict(os.environ), pathlib.Path('/proc/self/environ').read_bytes())"
SPIES = (
    "env",
    "export -p; set",
    f'python3 -c "{PROGRAM}"',
    "env | gzip > env.gz; env | base64 > env.b64; env >&2; false",
)
"""Commands that print and write their environment."""


class World:
    def __init__(self, run: CommandLine, home: Path, folder: Path) -> None:
        self._run = run
        self.home = home
        self.workspace = folder / "project"
        self.written = folder / "written"
        for made in (self.workspace, self.written):
            made.mkdir()
        (self.workspace / "a.py").write_text("x = 1\n")
        self._said: list[str] = []
        self.secrets = dict(KEYS) | {
            f"header {number}": line.rpartition(" ")[2]
            for number, line in enumerate(KEYS["ANTHROPIC_CUSTOM_HEADERS"].split("\n"))
        }

    def __call__(self, *arguments: str | Path) -> Ran:
        ran = self._run(*arguments)
        self._said.append(ran.out + ran.err)
        return ran

    def hear(self, words: object) -> None:
        self._said.append(str(words))

    def ask(self, provider: str, url: str, *more: str | Path) -> Ran:
        logs = [
            "--audit-log", self.written / "audit.jsonl", "--changes-log", self.written / "changes.jsonl",
            "--debug-tool-use", "--tool-debug-log", self.written / "debug.jsonl",
        ]  # fmt: skip
        return self(
            "run", "--prompt", "What is set?", "--workspace", self.workspace, "--provider", provider, "--base-url", url,
            "--model", "m-test", "--approval", "never", "--json", "--stream", "--verbose", *logs, *more,
        )  # fmt: skip

    def agent(self, provider: str, url: str | None, account: str = "", **more: Any) -> Agent:
        model = ModelRef(provider=provider, model="m-test", base_url=url, account=account)
        return Agent(self.workspace, model=model, sandbox="none", approve=lambda _: True, on_event=self.hear, **more)

    async def ask_again_and_again(self, agent: Agent, times: int) -> None:
        async with agent:
            for _ in range(times):
                try:
                    await agent.run("What is set?")
                except RunFailedError as error:
                    self.hear((error, error.title, error.hint, error.detail, error.result))

    def tell_all(self) -> None:
        sessions = [session["id"] for session in self("sessions", "list", "--json").json["sessions"]]
        for session in sessions:
            for form in ("md", "html", "jsonl", "patch"):
                self("sessions", "export", session, "--format", form, "--output", self.written / f"{session}.{form}")
            self("sessions", "show", session, "--json")
            self("changes", "list", session)
            self("changes", "diff", session)
        for command in (
            ("sessions", "verify"), ("sessions", "search", "Authorization"), ("auth", "status"), ("config", "show"),
            ("costs",), ("storage",), ("tools", "list"),
        ):  # fmt: skip
            self(*command)
            self(*command, "--json")
        self("doctor")

    def leaks(self) -> list[str]:
        roots = [self.home, self.workspace, self.written]
        said = found_in("\n".join(self._said).encode(errors="surrogateescape"), self.secrets)
        return [*found_below(roots, self.secrets), *(f"{name}: said" for name in sorted(said))]


def spying(path: str = "seen.txt") -> tuple[Answer, ...]:
    calls = [tool_use("run_terminal_cmd", command=command) for command in SPIES]
    looks = reply(thinking("Let me see.", signature="c2ln"), text("I look."), *calls)
    edits = reply(tool_use("edit_file", path="a.py", old_str="x = 1", new_str="x = 2"))
    writes = [tool_use("run_terminal_cmd", command=command) for command in (f"env > {path}", "cat /proc/$PPID/environ")]
    return (looks, edits, reply(*writes), reply(text("Nothing is set.")))
