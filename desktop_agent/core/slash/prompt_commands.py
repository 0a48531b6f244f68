"""Commands that are prompts: skills, the commands among them, and the prompts of MCP servers."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.plain_text import named, shortened
from desktop_agent.core.extensions.skills import Skill
from desktop_agent.core.extensions.skills_in_force import ListedSkill
from desktop_agent.core.mcp.connection import Connection
from desktop_agent.core.mcp.server_status import OfferedPrompt
from desktop_agent.core.slash.declarations import BUILT_IN_NAMES, Declaration, Invocation


class OwnCommand(Struct, frozen=True, kw_only=True):
    declaration: Declaration
    skill: Skill

    def prompt(self, invocation: Invocation) -> str:
        return self.skill.prompt(invocation.rest, invocation.words)


def own_commands(found: Sequence[ListedSkill]) -> tuple[OwnCommand, ...]:
    """Return the commands that are skills, by name; unusable ones have a `problem`."""
    commands: list[OwnCommand] = []
    for listed in found:
        skill = listed.skill
        if not skill.is_for_user or listed.state in ("off", "waiting"):
            continue
        problem = "a built-in command has this name" if skill.name in BUILT_IN_NAMES else ""
        if listed.state == "unusable":
            problem = listed.reason
        declaration = Declaration(
            name=skill.name,
            arguments=skill.arguments or ("[ARGUMENTS]" if skill.has_places else ""),
            summary=shortened(skill.description, _LONGEST_SUMMARY),
            origin=skill.origin if skill.is_ours else "skill",
            asks_model=True,
            problem=problem,
        )
        commands.append(OwnCommand(declaration=declaration, skill=skill))
    return tuple(sorted(commands, key=lambda command: (command.declaration.name, command.declaration.origin)))


BETWEEN = ":"
_LONGEST_SUMMARY = 200
LONGEST_PROMPT = 200_000


class ServerPrompt(Struct, frozen=True):
    connection: Connection
    offered: OfferedPrompt

    @property
    def declaration(self) -> Declaration:
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
        """Return the prompt that the server makes from these arguments. Raises `ServerError` and `UsageError`."""
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
            raise UsageError(f"`{named(rest[0])}` is not expected there.", hint=self._usage)
        given |= dict(zip(free, rest, strict=False))
        if len(rest) > len(free):
            given[free[-1]] = " ".join(rest[len(free) - 1 :])
        if missing := [each.name for each in self.offered.arguments if each.is_required and each.name not in given]:
            raise UsageError(f"{named(missing[0])} is missing.", hint=self._usage)
        return given

    @property
    def _usage(self) -> str:
        declared = self.declaration
        return f"Write it as `/{declared.name} {declared.arguments}`.".replace(" `.", "`.")


def command_name(server: str, prompt: str) -> str:
    return named(f"{server}{BETWEEN}{'-'.join(prompt.split())}".lower())


def prompts_of(connections: Sequence[Connection]) -> tuple[ServerPrompt, ...]:
    found: dict[str, ServerPrompt] = {}
    for connection in connections:
        for offered in connection.status.prompts:
            found.setdefault(command_name(connection.definition.name, offered.name), ServerPrompt(connection, offered))
    return tuple(found.values())
