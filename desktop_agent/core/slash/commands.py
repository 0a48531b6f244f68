"""Runs slash commands: parses the line, finds the handler, and records the answer.

Some commands are prompts: skills, the commands among them, and the prompts of MCP servers.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import cast

from msgspec import Struct

from desktop_agent.core.base.errors import AgentError, StorageError, UsageError
from desktop_agent.core.base.plain_text import named, shortened
from desktop_agent.core.extensions.skills import Skill
from desktop_agent.core.extensions.skills_in_force import ListedSkill
from desktop_agent.core.mcp.connection import Connection
from desktop_agent.core.mcp.server_status import OfferedPrompt
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.slash import session_commands as handlers
from desktop_agent.core.slash.declarations import BUILT_IN_NAMES, Declaration, Invocation, code, help_text, parse
from desktop_agent.core.slash.session_commands import Answer, CommandParts, Reply, SessionControls, no_more


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


logger = logging.getLogger(__name__)

Handler = Callable[[Invocation, CommandParts, SessionControls], Awaitable[Answer]]

_HANDLERS: dict[str, Handler] = {
    "status": handlers.status, "compact": handlers.compact, "pin": handlers.pin, "unpin": handlers.unpin,
    "config": handlers.config, "model": handlers.model, "effort": handlers.effort, "clear": handlers.clear,
    "fork": handlers.fork, "rewind": handlers.rewind, "undo": handlers.undo, "redo": handlers.redo,
    "diff": handlers.diff, "export": handlers.export,
}  # fmt: skip

_ESCAPE = "To send it to the model as it is, begin with a space or a second slash."


class SlashCommands:
    def __init__(self, parts: CommandParts, controls: SessionControls) -> None:
        self._parts = parts
        self._controls = controls
        self._built_in = {command.name: command for command in parts.services.commands}
        self._pending: set[asyncio.Task[None]] = set()
        self._fetching: set[asyncio.Task[None]] = set()

    async def run(self, text: str) -> None:
        """Run the command in `text` and record its answer. A command from a file becomes a prompt.

        Returns when the session can continue; slow answers are recorded later. Raises `StorageError`.
        """
        invocation = parse(text)
        own: OwnCommand | None = None
        if invocation.name not in self._built_in:
            named = (each for each in await self._own() if each.declaration.name == invocation.name)
            own = next((each for each in named if not each.declaration.problem), None)
        if own is None and invocation.name not in self._built_in and self._is_agents(invocation.name):
            await self._controls.prompt(text.strip(), invocation.rest)
            return
        if own is not None:
            if not own.skill.is_ours:
                await asyncio.to_thread(self._parts.skills.uses.note, own.skill)
            await self._controls.prompt(own.prompt(invocation), invocation.rest)
            return
        if invocation.name not in self._built_in and (server := self._server_of(invocation.name)):
            # The server may have to start: the session goes on meanwhile.
            task = asyncio.create_task(self._send_fetched(text, invocation, server), name=f"/{invocation.name}")
            self._fetching.add(task)
            task.add_done_callback(self._fetching.discard)
            return
        answer = await self._awaited(self._answer(invocation))
        if isinstance(answer, Reply):
            await self._say(text, answer)
            return
        task = asyncio.create_task(self._say_later(text, answer), name=f"/{invocation.name}")
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    def _is_agents(self, name: str) -> bool:
        agent = self._parts.transcript.session.agent
        return agent is not None and any(command.name.lower() == name for command in agent.commands)

    def _server_of(self, name: str) -> Connection | None:
        servers = self._parts.servers()
        return next((each for each in servers if name.startswith(f"{each.definition.name.lower()}{BETWEEN}")), None)

    async def _send_fetched(self, text: str, invocation: Invocation, server: Connection) -> None:
        try:
            await server.tools()  # and its prompts
            meant = [each for each in prompts_of([server]) if each.declaration.name == invocation.name]
            if not meant:
                raise await self._unknown(invocation.name)
            self._controls.prompt_later(await meant[0].text(invocation))
        except AgentError as error:
            await self._say_later(text, _failure(error))

    async def aclose(self) -> None:
        """Cancel fetches and wait for the answers still due. The work for these answers must already be stopped."""
        for task in self._fetching:
            task.cancel()
        if self._fetching:
            await asyncio.wait(self._fetching)
        while self._pending:
            await asyncio.wait(self._pending)

    async def _answer(self, invocation: Invocation) -> Answer:
        declared = self._built_in.get(invocation.name)
        if declared is None:
            raise await self._unknown(invocation.name)
        if self._controls.is_busy() and not declared.works_meanwhile:
            raise UsageError(f"The agent is working, so /{declared.name} was not carried out.", hint="Stop it first.")
        if declared.name == "help":
            no_more(invocation.words, "/help")
            own = (command.declaration for command in await self._own())
            theirs = [prompt.declaration for prompt in prompts_of(self._parts.servers())]
            return Reply(help_text(tuple(self._built_in.values()), (*own, *theirs)))
        return await _HANDLERS[declared.name](invocation, self._parts, self._controls)

    async def _own(self) -> tuple[OwnCommand, ...]:
        return await asyncio.to_thread(lambda: own_commands(self._parts.skills.look()))

    async def _unknown(self, name: str) -> UsageError:
        own = await self._own()
        for command in own:
            if command.declaration.name == name:
                problem = command.declaration.problem
                return UsageError(
                    f"/{name} cannot be used: {code(problem)}.", hint=f"It is {code(str(command.skill.path))}."
                )
        usable = [command.declaration for command in own if not command.declaration.problem]
        usable += [prompt.declaration for prompt in prompts_of(self._parts.servers())]
        close = _nearest(name, (command.name for command in (*self._built_in.values(), *usable)))
        meant = f"Did you mean {' or '.join(f'`/{found}`' for found in close)}? " if close else ""
        return UsageError(f"There is no command {code(f'/{name}')}.", hint=f"{meant}`/help` lists them. {_ESCAPE}")

    async def _awaited(self, answer: Awaitable[Answer]) -> Answer:
        try:
            return await answer
        except StorageError:
            raise
        except AgentError as error:
            return _failure(error)
        except Exception:
            logger.exception("A command failed unexpectedly")
            return Reply("Something went wrong inside the application; the details are in the log.", is_error=True)

    async def _say_later(self, text: str, answer: Answer) -> None:
        try:
            await self._say(text, answer if isinstance(answer, Reply) else cast("Reply", await self._awaited(answer)))
        except StorageError:
            logger.exception("What a command came to could not be recorded")

    async def _say(self, text: str, reply: Reply) -> None:
        event = ev.CommandRun(text=text.strip(), output=reply.output, is_error=reply.is_error, opens=reply.opens)
        await self._controls.say(event)


def _failure(error: AgentError) -> Reply:
    return Reply("\n\n".join(filter(None, (str(error), code(error.detail) if error.detail else ""))), is_error=True)


def _nearest(name: str, names: Iterable[str]) -> list[str]:
    known = list(names)
    name = name[:64]
    beginning = [found for found in known if name and found.startswith(name)]
    return list(dict.fromkeys([*beginning, *get_close_matches(name, known, n=3, cutoff=0.6)]))[:3]
