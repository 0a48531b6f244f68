"""Prompts that MCP servers offer, as commands: `/server:prompt`, with arguments in their order or as `name=value`."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.mcp.connection import Connection
from desktop_agent.core.mcp.server_status import OfferedPrompt
from desktop_agent.core.slash.declarations import Declaration
from desktop_agent.core.slash.parse import Invocation

BETWEEN = ":"
_LONGEST_SUMMARY = 200
LONGEST_PROMPT = 200_000
"""In characters: a longer one is no prompt."""


class ServerPrompt(Struct, frozen=True):
    """One prompt of one server."""

    connection: Connection
    offered: OfferedPrompt

    @property
    def declaration(self) -> Declaration:
        """The prompt as a command."""
        asked = (each.name if each.is_required else f"[{each.name}]" for each in self.offered.arguments)
        about = self.offered.description or self.offered.title
        return Declaration(
            name=command_name(self.connection.definition.name, self.offered.name),
            arguments=named(" ".join(asked).upper()),
            summary=named(" ".join(about.split()))[:_LONGEST_SUMMARY] or "A prompt of a server",
            origin="server",
            asks_model=True,
        )

    async def text(self, invocation: Invocation) -> str:
        """Return the prompt that the server makes of the arguments. Raises `ServerError` and `UsageError`."""
        text = await self.connection.prompt(self.offered.name, self._arguments(invocation.words))
        if not text.strip():
            raise UsageError(f"/{invocation.name} came to no text.")
        if len(text) > LONGEST_PROMPT:
            raise UsageError(f"/{invocation.name} came to more than {LONGEST_PROMPT:,} characters.")
        return text

    def _arguments(self, words: Sequence[str]) -> Mapping[str, str]:
        names = [argument.name for argument in self.offered.arguments]
        given: dict[str, str] = {}
        rest: list[str] = []
        for word in words:
            name, equals, value = word.partition("=")
            if equals and name in names:
                given[name] = value
            else:
                rest.append(word)
        free = [name for name in names if name not in given]
        if rest and not free:
            raise UsageError(f"`{named(rest[0])}` means nothing there.", hint=self._usage)
        given |= dict(zip(free, rest, strict=False))
        if len(rest) > len(free):
            given[free[-1]] = " ".join(rest[len(free) - 1 :])
        if missing := [each.name for each in self.offered.arguments if each.is_required and each.name not in given]:
            raise UsageError(f"{named(missing[0])} is missing.", hint=self._usage)
        return given

    @property
    def _usage(self) -> str:
        declared = self.declaration
        return f"It is written `/{declared.name} {declared.arguments}`.".replace(" `.", "`.")


def command_name(server: str, prompt: str) -> str:
    """Return the command for a prompt: in small letters and without blanks, as commands are written."""
    return named(f"{server}{BETWEEN}{'-'.join(prompt.split())}".lower())


def prompts_of(connections: Sequence[Connection]) -> tuple[ServerPrompt, ...]:
    """Return the prompts that these servers are known to offer; of two with the same command the first."""
    found: dict[str, ServerPrompt] = {}
    for connection in connections:
        for offered in connection.status.prompts:
            found.setdefault(command_name(connection.definition.name, offered.name), ServerPrompt(connection, offered))
    return tuple(found.values())
