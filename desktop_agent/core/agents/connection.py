"""One agent of another program: its process, its session, and the protocol's requests and updates."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, nullcontext, suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.agents import wire
from desktop_agent.core.agents.calls import SessionReplay
from desktop_agent.core.agents.definition import AgentDefinition, LoginWay, read_agent_secrets
from desktop_agent.core.agents.installed import agent_started_by, kind_of
from desktop_agent.core.agents.offers import MODE, AgentOffers, how_to_sign_in, ways_to_sign_in
from desktop_agent.core.agents.peer import AUTH_REQUIRED, CANCELLED, Handler, Peer, RpcError
from desktop_agent.core.base.errors import AgentError, CredentialsError, NotSignedInError, ServerError
from desktop_agent.core.base.package import __version__
from desktop_agent.core.base.plain_text import without_controls
from desktop_agent.core.base.secrets import Keyring
from desktop_agent.core.mcp.client import NotTrustedError
from desktop_agent.core.mcp.confining import ServerConfiner
from desktop_agent.core.mcp.definition import TRUST_AGAIN, Program
from desktop_agent.core.mcp.server_log import ServerLog
from desktop_agent.core.protocol.model import AgentSession, JsonObject, SaidElsewhere
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.system.processes.child import ChildProcess, unhurried
from desktop_agent.core.system.processes.line_process import LineProcess
from desktop_agent.core.system.processes.process_tree import Activity
from desktop_agent.core.system.processes.runner import Command, ProcessRunner

START_TIMEOUT_S: Final = 60.0
"""How long an agent may take to start and to open a session. `npx` may have to look for its package first."""

CANCEL_TIMEOUT_S: Final = 10.0
"""How long an agent may take to end a turn that was stopped. After that, its process is ended."""

ELICIT: Final = "elicitation/create"
TERMINALS: Final = (
    "terminal/create", "terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release"
)  # fmt: skip
SERVED: Final = ("fs/read_text_file", "fs/write_text_file", *TERMINALS, ELICIT)
"""What an agent may ask for besides permissions, each by `Listener.serve`."""

_MOST_WAITING: Final = 1_000
"""How many updates may wait to be recorded. Then the agent has to wait."""
_MOST_TOLD_BYTES: Final = 2**28
_LAST_LINES: Final = 20
_MOST_LAG_NS: Final = 500_000_000
"""How long a message may wait on a busy machine until it is read."""
_CAPABILITIES: Final[JsonObject] = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "auth": {"terminal": True},
    "elicitation": {"form": {}, "url": {}},
    "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
    "_meta": {"terminal-auth": True},  # the older form of `auth.terminal`: some agents name their commands only for it
}


T = TypeVar("T")


class Listener(Protocol):
    """The turn that runs. Updates and questions come in the order in which the agent sent them."""

    async def take(self, update: wire.Update, since_ns: int) -> None:
        """Take in an update that the agent sent after `since_ns`, by the clock of files."""
        ...

    async def permit(self, asked: wire.PermissionAsked) -> str:
        """Return the id of the chosen option; empty if the question was cancelled."""
        ...

    async def serve(self, method: str, params: JsonObject) -> JsonObject:
        """Answer one of the other requests that the agent may send. Raises `RpcError`."""
        ...


class AgentSurroundings(Struct, frozen=True, kw_only=True, eq=False):
    root: Path
    environ: Mapping[str, str]
    """The user's variables. Of the credentials in them, an agent gets only those of its own account."""
    keyring: Keyring
    confiner: ServerConfiner
    runner: ProcessRunner
    logs: Path | None = None
    """The folder for what agents write to their standard error."""
    changed: Callable[["AgentConnection"], None] = lambda _: None
    """Called when the commands, modes or options of the agent have changed."""

    async def command(self, agent: AgentDefinition, log: ServerLog) -> Command:
        """Return the command that starts the agent, with its secrets, which `log` masks. Raises `CredentialsError`."""
        secrets = await asyncio.to_thread(read_agent_secrets, self.keyring, agent)
        log.hide(secrets.values())
        known = agent_started_by(agent.command, agent.args) if agent.defined_by == "user" else None
        environ = child_environment(self.environ, known.credentials if known is not None else ())
        return Command(
            argv=(agent.command, *agent.args),
            cwd=self.root,
            environ={**environ, **agent.env, **secrets},
            takes_input=True,
        )

    def confined(
        self, agent: AgentDefinition, command: Command, log: ServerLog
    ) -> AbstractAsyncContextManager[Command]:
        if agent.limits is None:
            return nullcontext(command)
        program = Program(command=agent.command, args=agent.args, sandbox=agent.limits)
        return self.confiner.confining(program, self.root, command, log, self.runner)


async def _require_trust(definition: AgentDefinition) -> None:
    if definition.may_start is not None and not await asyncio.to_thread(definition.may_start):
        title = f"Files that the agent {definition.name} runs are not as you trusted them, so it was not started."
        raise NotTrustedError(title, hint=TRUST_AGAIN)


class AgentConnection:
    """Started by `start`, ended by `aclose`. One turn at a time; all methods raise `AgentError`."""

    def __init__(
        self, definition: AgentDefinition, surroundings: AgentSurroundings, reference: str = "", sign_in: str = ""
    ) -> None:
        """`reference` names the agent in a session; `sign_in` is the id of its own sign-in, if it needs one."""
        self.definition = definition
        self._reference = reference or definition.name
        self._sign_in = sign_in
        self.facts = wire.Initialized(protocol_version=0)
        self.session_id = ""
        self.offers = AgentOffers()
        self._around = surroundings
        self._until_it_ends = AsyncExitStack()
        self._log = ServerLog(surroundings.logs / f"{definition.name}.log" if surroundings.logs is not None else None)
        self._process = LineProcess(self._log.say)
        self._outgoing: asyncio.Queue[bytes] = asyncio.Queue()
        answers: dict[str, Handler] = {method: partial(self._served, method) for method in SERVED}
        answers["session/request_permission"] = self._permission
        self._peer = Peer(
            lambda line: self._outgoing.put_nowait(line.encode()),
            answers,
            {"session/update": self._updated},
            self._process.pass_over,
        )
        self.is_known = False
        """Whether the agent's session has the conversation so far, as far as the agent took part in it."""
        self.through_turn = 0
        """The last turn here that the agent's session contained when it was opened."""
        self.said: tuple[SaidElsewhere, ...] = ()
        """The messages in the agent's session since it was last open here. It is recorded by the next turn."""
        self.is_strange = False
        """Whether the agent's session could not be compared with the conversation here."""
        self.is_unloadable = False
        """Whether the agent exited while it replayed its session, which it may still be able to resume."""
        self._replay: SessionReplay | None = None
        self._opening = ""
        """The id of the session that is being opened again."""
        self.cost_usd: float | None = None
        """The cost of the agent's session, if the agent reports it."""
        self.title = ""
        """The title that the agent gave its session after the end of a turn."""
        self.environ: Mapping[str, str] = {}
        self.commands: set[ChildProcess] = set()
        """The commands that run for the agent in this turn."""
        self._listener: Listener | None = None
        self._permits: set[asyncio.Task[Any]] = set()
        self._steps = _Steps()
        self._patience: asyncio.TimerHandle | None = None
        self._told_bytes = 0
        self._heard_ns = 0
        """When the last message was read."""
        self._serving: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        info = self.facts.agent_info
        return without_controls((info.title or info.name) if info is not None else "") or self.definition.name

    @property
    def kind(self) -> str:
        """The name of the known agent that this is; empty for any other."""
        info = self.facts.agent_info
        return kind_of(info.name) if info is not None else ""

    @property
    def sign_ins(self) -> tuple[LoginWay, ...]:
        return ways_to_sign_in(self.definition, self.facts.auth_methods)

    @property
    def activities(self) -> tuple[Activity, ...]:
        """What its process does, and the commands that run for it."""
        own = (self._process.child,) if self.is_running else ()
        return tuple(child.activity for child in (*own, *self.commands))

    @property
    def is_running(self) -> bool:
        return self._serving is not None and not self._serving.done()

    async def start(self) -> None:
        """Start the agent, and agree on the protocol."""
        self._until_it_ends.push_async_callback(self._log.aclose)
        await _require_trust(self.definition)
        command = await self._around.command(self.definition, self._log)
        self.environ = command.environ
        confining = self._around.confined(self.definition, command, self._log)
        confined = await self._until_it_ends.enter_async_context(confining)
        await _require_trust(self.definition)  # downloading its program may have taken minutes
        await self._process.start(self._around.runner, confined, self._log.feed)
        self._serving = asyncio.create_task(self._serve(), name=f"agent {self.definition.name}")
        info: JsonObject = {"name": "desktop-agent", "title": "Desktop Agent", "version": __version__}
        params: JsonObject = {
            "protocolVersion": wire.VERSION, "clientCapabilities": _CAPABILITIES, "clientInfo": info
        }  # fmt: skip
        self.facts = await self._ask("initialize", params, wire.Initialized, timeout_s=START_TIMEOUT_S)
        if self.facts.protocol_version != wire.VERSION:
            raise ServerError(
                f"{self.name} speaks version {self.facts.protocol_version} of the protocol, and only version "
                f"{wire.VERSION} is known here.",
                hint="Update the agent, or this application.",
            )

    def confined(self, command: Command) -> AbstractAsyncContextManager[Command]:
        """Confine a command that runs for the agent exactly as the agent. Raises `ServerError`."""
        alike = replace(self.definition, command=f"commands of {self.definition.name}", args=())
        return self._around.confined(alike, command, self._log)

    async def open_session(
        self, known: AgentSession | None = None, heard: Sequence[str] = (), servers: Sequence[JsonObject] = ()
    ) -> bool:
        """Open a session in the folder. Return whether it is the `known` one, which the agent may have forgotten.

        `heard` has the user's messages in it that are known here, to find those that came from elsewhere.
        """
        try:
            return await self._open_session(known, heard, servers)
        except NotSignedInError:
            if not self._sign_in:
                raise
        await self.authenticate(self._sign_in, timeout_s=START_TIMEOUT_S)  # it forgot that when it ended
        return await self._open_session(known, heard, servers)

    async def _open_session(
        self, known: AgentSession | None, heard: Sequence[str], servers: Sequence[JsonObject]
    ) -> bool:
        params: JsonObject = {"cwd": str(self._around.root), "mcpServers": list(servers)}
        if known is not None and await self._reopened(params | {"sessionId": known.id}, known.id, heard):
            self.session_id, self.is_known, self.through_turn = known.id, True, known.through_turn
        else:
            facts = await self._new_session(params)
            self.session_id, self.is_known, self.through_turn = facts.session_id, False, 0
            self.cost_usd = 0.0
            self._note(self.offers.with_facts(facts))
        await self._set_mode()
        return self.is_known

    async def _new_session(self, params: JsonObject) -> wire.SessionOffers:
        problem = ServerError(f"{self.name} opened a session without an id.")
        try:
            facts = await self._ask("session/new", params, wire.SessionOffers, timeout_s=START_TIMEOUT_S)
            if facts.session_id:
                return facts
        except ServerError as error:
            problem = error
        if self.facts.auth_methods and self.is_running:  # some say it in words of their own
            raise self._not_signed_in(problem.title, problem.detail, is_sure=False)
        raise problem

    async def authenticate(self, method_id: str, *, timeout_s: float | None = None) -> None:
        """Let the agent sign in by itself: it may open a browser, and wait for the user. Can be cancelled."""
        await self._ask("authenticate", {"methodId": method_id}, wire.SessionOffers, timeout_s=timeout_s)

    async def prompt(self, blocks: Sequence[JsonObject], listener: Listener) -> wire.PromptEnd:
        """Run a turn. When this returns, everything that the agent sent before the end of the turn is handled.

        A cancellation stops the agent's turn, and then ends the agent if it does not stop.
        """
        self._listener, self._told_bytes = listener, 0
        taking = asyncio.create_task(self._steps.take(), name=f"updates of {self.definition.name}")
        params: JsonObject = {"sessionId": self.session_id, "prompt": list(blocks)}
        asking = asyncio.create_task(self._ask("session/prompt", params, wire.PromptEnd), name="prompt")
        try:
            await asyncio.wait({asking, taking}, return_when=asyncio.FIRST_COMPLETED)
            await self._steps.drained(taking)
            if taking.done():  # an update could not be recorded
                taking.result()
            return await asking
        except NotSignedInError:
            self._process.break_off("It is not signed in.")  # it takes up a sign-in when it starts again
            assert self._serving is not None
            await asyncio.wait({self._serving})
            raise
        except asyncio.CancelledError:
            await unhurried(self._stop(asking, taking))
            raise
        finally:
            self._listener = None
            if self._patience is not None:
                self._patience.cancel()
                self._patience = None
            left = {asking, taking, *self._permits}
            for task in left:
                task.cancel()
            await asyncio.wait(left)
            self._steps.clear()

    async def steer(self, blocks: Sequence[JsonObject]) -> wire.SteeringEnd:
        """Send a message into the running prompt."""
        meta: JsonObject = {"steering": {"idleBehavior": "promptRequired"}}
        params: JsonObject = {"sessionId": self.session_id, "prompt": list(blocks), "_meta": meta}
        end = await self._ask("_session/steering", params, wire.SteeringEnd, timeout_s=START_TIMEOUT_S)
        if end.has_begun_anew:  # nobody asked it to
            self._peer.tell("session/cancel", {"sessionId": self.session_id})
        return end

    def stop_prompt(self) -> None:
        """Ask the agent to end its prompt, which then returns. An agent that does not end it is ended itself."""
        if self._listener is None:
            return
        self._peer.tell("session/cancel", {"sessionId": self.session_id})
        for permit in self._permits:  # the protocol wants them answered as cancelled
            permit.cancel()
        if self._patience is None:
            late = partial(self._process.break_off, "It did not stop when it was asked to.")
            self._patience = asyncio.get_running_loop().call_later(CANCEL_TIMEOUT_S, late)

    async def choose(self, option_id: str, value: str | bool) -> None:
        """Set one of the agent's options."""
        self.offers.require(option_id, value, self.name)
        session: JsonObject = {"sessionId": self.session_id}
        if option_id == MODE and self.offers.has_plain_modes:
            params = session | {"modeId": value}
            await self._ask("session/set_mode", params, wire.SessionOffers, timeout_s=START_TIMEOUT_S)
            self._note(self.offers.with_mode(str(value)))
            return
        params = session | {"configId": option_id, "value": value}
        if isinstance(value, bool):
            params["type"] = "boolean"
        facts = await self._ask("session/set_config_option", params, wire.SessionOffers, timeout_s=START_TIMEOUT_S)
        self._note(self.offers.with_value(option_id, value).with_facts(facts))

    async def restore(self, chosen: Mapping[str, str | bool]) -> None:
        """Set the options that the user chose before, as far as the agent still has them."""
        for option_id, value in chosen.items():
            try:
                await self.choose(option_id, value)
            except ServerError as error:
                if not self.is_running:
                    raise
                self._log.say(f"An option was not set again: {error.title}")

    async def aclose(self) -> None:
        """End the agent and all of its processes. Safe to call twice, and after a failed start."""
        if self._serving is None:
            await self._until_it_ends.aclose()
            return
        await self._process.end()
        await asyncio.wait({self._serving})
        await self._until_it_ends.aclose()

    # -- what is asked --

    async def _ask(
        self, method: str, params: JsonObject, kind: type[wire.T], *, timeout_s: float | None = None
    ) -> wire.T:
        try:
            async with asyncio.timeout(timeout_s):
                return wire.read(await self._peer.ask(method, params), kind)
        except TimeoutError as error:
            title = f"{self.name} did not answer within {timeout_s:g} s."
            raise ServerError(title, detail=self._log.tail(_LAST_LINES)) from error
        except RpcError as error:
            raise self._explained(error) from error
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            title = f"{self.name} broke off. {await self._process.ended()}"
            if self._serving is not None:
                await asyncio.wait({self._serving})
            raise ServerError(title, detail=self._log.tail(_LAST_LINES)) from None

    def _explained(self, error: RpcError) -> AgentError:
        said = without_controls(error.message).strip() or f"error {error.code}"
        detail = self._log.tail(_LAST_LINES)
        if error.code == AUTH_REQUIRED:
            return self._not_signed_in(f"{self.name} is not signed in.", detail)
        return ServerError(f"{self.name}: {said}", detail=detail)

    def _not_signed_in(self, title: str, detail: str, *, is_sure: bool = True) -> NotSignedInError:
        ways = [(way.id, way.name, bool(way.command)) for way in self.sign_ins if not way.variables]
        hint = how_to_sign_in(self._reference, self.sign_ins)
        hint = hint if is_sure else f"Perhaps it is not signed in. {hint}"
        return NotSignedInError(title, ways=ways, hint=hint, detail=detail)

    async def _reopened(self, params: JsonObject, session_id: str, heard: Sequence[str]) -> bool:
        """Load the session, which replays all of it, if that is compared with `heard`; otherwise resume it."""
        ways = {"session/resume": self.facts.can_resume, "session/load": self.facts.agent_capabilities.load_session}
        offered = [method for method, is_offered in ways.items() if is_offered]
        for method in reversed(offered) if heard else offered:
            replay = SessionReplay(heard) if heard and method == "session/load" else None
            self._opening, self._replay = session_id, replay
            try:
                facts = await self._ask(method, params, wire.SessionOffers, timeout_s=START_TIMEOUT_S)
            except CredentialsError:
                raise
            except ServerError as error:
                self.is_unloadable = replay is not None and self.facts.can_resume
                if not self.is_running:
                    raise
                self._log.say(f"The session was not opened again: {error.title}")
            else:
                self._note(self.offers.with_facts(facts))
                if replay is not None:
                    self.said, self.is_strange = replay.said(), not replay.is_comparable
                return True
            finally:
                self._opening, self._replay = "", None
        return False

    async def _set_mode(self) -> None:
        """Set the mode explicitly: some agents begin in one that does not ask."""
        wanted, option = self.offers.mode_wanted(self.definition.mode, self.name), self.offers.mode
        if wanted and option is not None:
            await self.choose(option.id, wanted)

    async def _stop(self, asking: asyncio.Task[wire.PromptEnd], taking: asyncio.Task[None]) -> None:
        if asking.done():
            return
        self.stop_prompt()
        for child in self.commands:
            child.ask_to_end()
        with suppress(AgentError, asyncio.CancelledError):
            await asking
        await self._steps.drained(taking)

    # -- what it tells --

    async def _serve(self) -> None:
        writing = asyncio.create_task(self._write(), name=f"agent {self.definition.name} is told")
        try:
            async with aclosing(self._lines()) as lines:
                await self._peer.serve(lines)
        finally:
            self._process.child.ask_to_end()  # nobody listens to it any more
            writing.cancel()
            await asyncio.wait({writing})

    async def _lines(self) -> AsyncGenerator[bytes]:
        async with aclosing(self._process.lines()) as lines:
            async for line in lines:
                self._heard_ns = time.time_ns()
                self._told_bytes += len(line)
                if self._told_bytes > _MOST_TOLD_BYTES:
                    self._process.break_off(f"It said more than {_MOST_TOLD_BYTES // 2**20} MiB in one turn.")
                await self._steps.room.wait()
                yield line

    async def _write(self) -> None:
        while await self._process.send(await self._outgoing.get()):
            pass

    def _updated(self, params: JsonObject) -> None:
        updated = wire.read_update(params)
        if isinstance(updated, str):
            self._log.say(f"An update of an unknown kind was left out: {updated}")
        elif updated.session_id == (self._opening or self.session_id or updated.session_id):
            self._take_note(updated.update)

    def _take_note(self, update: wire.Update) -> None:
        match update:
            case wire.CommandsUpdated(available_commands=commands):
                self._note(replace(self.offers, told=commands))
            case wire.ModeUpdated(current_mode_id=mode_id):
                self._note(self.offers.with_mode(mode_id))
            case wire.OptionsUpdated(config_options=options):
                self._note(replace(self.offers, options=options))
            case _ if (listener := self._listener) is not None:
                since_ns = self._heard_ns - _MOST_LAG_NS
                self.do_next(lambda: listener.take(update, since_ns))
            case wire.InfoUpdated(title=str(title)):
                self.title = title
            case _ if self._replay is not None:
                self._replay.take(update)
            case _:
                pass

    def _note(self, offers: AgentOffers) -> None:
        self.offers = offers
        self._around.changed(self)

    async def _permission(self, params: JsonObject) -> JsonObject:
        asked = wire.read(params, wire.PermissionAsked)
        option_id = await self._in_turn(params, lambda listener: listener.permit(asked))
        selected: JsonObject = {"outcome": "selected", "optionId": option_id}
        return {"outcome": selected if option_id else {"outcome": "cancelled"}}

    async def _served(self, method: str, params: JsonObject) -> JsonObject:
        answer = await self._in_turn(params, lambda listener: listener.serve(method, params))
        if answer is not None:
            return answer
        if method == ELICIT:
            return {"action": "cancel"}
        raise RpcError(CANCELLED, "No turn of this session runs any more.")

    async def _in_turn(self, params: JsonObject, work: Callable[[Listener], Coroutine[Any, Any, T]]) -> T | None:
        """Run `work` once the agent's earlier updates are handled. Return `None` if the turn is over or is stopped."""
        listener = self._listener
        if listener is None or params.get("sessionId") != self.session_id:
            return None
        reached = asyncio.Event()

        async def reach() -> None:
            reached.set()

        self.do_next(reach)
        await reached.wait()
        doing = asyncio.create_task(work(listener), name="what the agent asks")
        self._permits.add(doing)
        try:
            return await doing
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            return None
        finally:
            self._permits.discard(doing)

    def do_next(self, step: Callable[[], Awaitable[None]]) -> None:
        """Run this step of the turn once the agent's earlier updates are handled."""
        self._steps.add(step)


class _Steps:
    """The steps of a turn, in the order of the agent's updates. The agent waits while too many are queued."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue()
        self.room = asyncio.Event()
        self.room.set()

    def add(self, step: Callable[[], Awaitable[None]]) -> None:
        self._waiting.put_nowait(step)
        if self._waiting.qsize() >= _MOST_WAITING:
            self.room.clear()

    async def take(self) -> None:
        while True:
            step = await self._waiting.get()
            try:
                await step()
            finally:
                self._waiting.task_done()
                if self._waiting.empty():
                    self.room.set()

    async def drained(self, taking: asyncio.Task[None]) -> None:
        """Wait until all earlier updates are handled, or until `taking` failed."""
        joining = asyncio.create_task(self._waiting.join(), name="what the agent told")
        await asyncio.wait({joining, taking}, return_when=asyncio.FIRST_COMPLETED)
        joining.cancel()

    def clear(self) -> None:
        while not self._waiting.empty():
            self._waiting.get_nowait()
            self._waiting.task_done()
        self.room.set()


def _own(sessions: Sequence[AgentSession], reference: str, kind: str) -> AgentSession | None:
    """Return the session that this agent had here, or else the imported one of an agent of its kind."""
    found = {one.agent: one for one in sessions}
    imported = found.get("")
    return found.get(reference) or (imported if imported is not None and imported.kind == kind else None)


class SessionAgents:
    """The agents of one session, each started when a turn needs it, and again after it ended."""

    def __init__(self, make: Callable[[str], Awaitable[AgentConnection]]) -> None:
        """`make` returns a new connection to the agent with this name, or with this command line."""
        self._make = make
        self._made: dict[str, AgentConnection] = {}

    @property
    def connections(self) -> Mapping[str, AgentConnection]:
        return self._made

    async def connected(
        self,
        reference: str,
        sessions: Sequence[AgentSession] = (),
        heard: Mapping[str, Sequence[str]] = MappingProxyType({}),
        chosen: Mapping[str, str | bool] = MappingProxyType({}),
    ) -> AgentConnection:
        """Return the running agent, with its own one of these `sessions` open, or a new one if it has forgotten that.

        `heard` is what the user said to each agent before the present prompt, and `chosen` the options that the user
        set. Raises `AgentError`.
        """
        agent = self._made.get(reference)
        if agent is not None and agent.is_running:
            known = _own(sessions, reference, agent.kind)
            if agent.session_id != (known.id if known is not None else ""):  # the conversation went back
                await agent.open_session(known)
                await agent.restore(chosen)
            return agent
        if agent is not None:
            await agent.aclose()
            heard = {}  # its own program cannot have gone on with the session
        agent = self._made[reference] = await self._make(reference)
        try:
            await agent.start()
            known = _own(sessions, reference, agent.kind)
            await agent.open_session(known, heard.get(known.agent, ()) if known is not None else ())
            await agent.restore(chosen)
        except BaseException as error:
            del self._made[reference]
            await unhurried(agent.aclose())
            if agent.is_unloadable and isinstance(error, ServerError):
                return await self.connected(reference, sessions, {}, chosen)
            raise
        return agent

    async def aclose(self) -> None:
        made = tuple(self._made.values())
        self._made.clear()
        await asyncio.gather(*(agent.aclose() for agent in made))
