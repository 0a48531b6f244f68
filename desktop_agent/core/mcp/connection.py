"""Servers, each one for all sessions of a folder: started on demand, called, ended unused, retried after a failure.

A client must be left by the task that entered it. Therefore each server has one task, its owner, which does both.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.client import (
    AskUser,
    ConnectionLostError,
    NotTrustedError,
    SampleModel,
    ServerCredentials,
    SignInNeededError,
    Surroundings,
    no_model_to_ask,
    nobody_to_ask,
)
from desktop_agent.core.mcp.confining import ServerConfiner
from desktop_agent.core.mcp.definition import TRUST_AGAIN, Address, Program, ServerDefinition
from desktop_agent.core.mcp.server_log import ServerLog
from desktop_agent.core.mcp.server_status import CallReply, LastCall, OfferedTool, Part, Progress, ServerStatus
from desktop_agent.core.system.processes.child import first_of
from desktop_agent.core.system.processes.process_tree import Activity
from desktop_agent.core.system.processes.runner import Command, ProcessRunner

if TYPE_CHECKING:  # the SDK is imported when the first server is needed
    from desktop_agent.core.mcp.sdk.sdk_client import ServerClient

OpenClient = Callable[[ServerDefinition, Surroundings], AbstractAsyncContextManager["ServerClient"]]
"""Starts or reaches a server, and ends it on exit. Must be entered and left in the same task."""

OpenedClient = AsyncGenerator["ServerClient"]

logger = logging.getLogger(__name__)

MOST_FAILURES: Final = 5
"""How many failures in a row are retried. After that, only the user can start the server again."""

FIRST_RETRY_PAUSE_S: Final = 1.0
LONGEST_RETRY_PAUSE_S: Final = 60.0

FIRST_LISTING_PAUSE_S: Final = 0.5
LONGEST_LISTING_PAUSE_S: Final = 30.0
"""The longest pause between listings. It doubles for servers that report a change after each listing."""


class Relisting:
    """Tracks reports of changes from a server, and callers that wait for a new listing. Belongs to one event loop."""

    def __init__(self, clock: Clock, on_due: Callable[[], None]) -> None:
        """`on_due` is called when `due_in_s` may have decreased."""
        self._clock = clock
        self._on_due = on_due
        self._changes = 0
        self._listed = 0
        """How many of the reported changes the last listing includes."""
        self._pause_s = 0.0
        self._next_at = 0.0
        self._waiting: dict[asyncio.Future[None], int] = {}

    @property
    def is_pending(self) -> bool:
        return self._listed < self._changes

    @property
    def due_in_s(self) -> float | None:
        if not self.is_pending:
            return None
        return 0.0 if self._waiting else max(0.0, self._next_at - self._clock.monotonic())

    def note_change(self) -> None:
        self._changes += 1
        self._on_due()

    async def run(self, list_tools: Callable[[], Awaitable[tuple[OfferedTool, ...]]]) -> tuple[OfferedTool, ...]:
        """List the tools. Changes that are reported meanwhile are left for the next listing."""
        seen = self._changes
        is_calm = self._clock.monotonic() > self._next_at + LONGEST_LISTING_PAUSE_S
        self._pause_s = FIRST_LISTING_PAUSE_S if is_calm else min(2 * self._pause_s, LONGEST_LISTING_PAUSE_S)
        tools = await list_tools()
        self._next_at = self._clock.monotonic() + self._pause_s
        self._settle(seen)
        return tools

    async def wait(self) -> None:
        listed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[listed] = self._changes
        self._on_due()
        try:
            await listed
        finally:
            self._waiting.pop(listed, None)

    def give_up(self) -> None:
        self._settle(self._changes)

    def _settle(self, seen: int) -> None:
        self._listed = seen
        for listed, wanted in list(self._waiting.items()):
            if wanted <= seen and not listed.done():
                listed.set_result(None)
                del self._waiting[listed]


async def _all_but_tools(client: "ServerClient", log: ServerLog) -> dict[str, object]:
    offers: dict[str, object] = {"prompts": (), "resources": (), "templates": ()}
    for name in offers:
        if client.facts.has_prompts if name == "prompts" else client.facts.has_resources:
            try:
                offers[name] = await getattr(client, name)()
            except ConnectionLostError:
                raise
            except ServerError as error:
                log.say(f"Its {name} could not be listed: {error}")
    return offers


async def _resources(client: "ServerClient") -> dict[str, object]:
    if not client.facts.has_resources:
        return {"resources": (), "templates": ()}
    return {"resources": await client.resources(), "templates": await client.templates()}


_KEPT_CALLS = 20

_LAST_WORDS_S = 4.0

_LAST_LINES = 20

_COMPLETION_S = 5.0


class Connection:
    def __init__(
        self,
        definition: ServerDefinition,
        surroundings: Surroundings,
        open_client: OpenClient,
        clock: Clock,
        on_change: Callable[[ServerStatus], None] = lambda _: None,
    ) -> None:
        """`on_change` is called on the event loop's thread whenever the status changes."""
        self.definition = definition
        self.status = ServerStatus(name=definition.name)
        self.log = surroundings.log
        self._wake = asyncio.Event()
        self._relisting = Relisting(clock, self._wake.set)
        self._may_try_at = 0.0
        self._surroundings = replace(surroundings, tools_changed=self._relisting.note_change)
        self._open_client = open_client
        self._clock = clock
        self._on_change = on_change
        self._owner: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[ServerClient] | None = None
        self._is_stopping = False
        self._is_leaving = False
        self._running_calls = 0
        self._last_used = clock.monotonic()
        self._calls: deque[LastCall] = deque(maxlen=_KEPT_CALLS)

    async def tools(self) -> tuple[OfferedTool, ...]:
        """Return the server's current tools, starting it if needed. Raises `ServerError`."""
        await self._client()
        if self.is_relisting:
            limit_s = self.definition.startup_timeout_s
            try:
                async with asyncio.timeout(limit_s):
                    await self._relisting.wait()
            except TimeoutError as error:
                name = self.definition.name
                title = f"The MCP server {name} changed its tools and did not list them within {limit_s:g} s."
                raise ServerError(title) from error
            await self._client()
        return self.status.tools

    @property
    def is_relisting(self) -> bool:
        return self._relisting.is_pending

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, object],
        on_progress: Callable[[Progress], None] = lambda _: None,
        ask: AskUser = nobody_to_ask,
        sample: SampleModel = no_model_to_ask,
    ) -> CallReply:
        """Call a tool, starting the server if needed; never sent twice. Cancelling stops it. Raises `ServerError`."""
        begun = self._clock.monotonic()
        problem = "It was stopped."
        try:
            async with self._used() as client:
                timeout_s = self.definition.call_timeout_s
                reply = await client.call(
                    tool, arguments, timeout_s=timeout_s, on_progress=on_progress, ask=ask, sample=sample
                )
            problem = "The server reported a failure." if reply.is_error else ""
        except ServerError as error:
            problem = error.title
            raise
        else:
            return reply
        finally:
            duration_s = round(self._clock.monotonic() - begun, 3)
            self._calls.append(LastCall(tool=tool, at=self._clock.now(), duration_s=duration_s, problem=problem))
            self._change(last_calls=tuple(self._calls))

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        async with self._used() as client:
            return await client.prompt(name, arguments, timeout_s=self.definition.call_timeout_s)

    async def read(self, uri: str, timeout_s: float) -> tuple[Part, ...]:
        async with self._used() as client:
            return await client.read(uri, timeout_s=timeout_s)

    async def list_resources(self) -> ServerStatus:
        async with self._used() as client:
            self._change(**await _resources(client), left_out=client.left_out)
            return self.status

    async def complete(self, template: str, name: str, value: str, others: Mapping[str, str]) -> tuple[str, ...]:
        async with self._used() as client:
            return await client.complete(template, name, value, others, timeout_s=_COMPLETION_S)

    @asynccontextmanager
    async def _used(self) -> AsyncGenerator["ServerClient"]:
        """Yield the client; start the server if needed. The server is not ended during the block."""
        self._running_calls += 1
        try:
            yield await self._client()
        except ServerError as error:
            if isinstance(error, SignInNeededError):
                self._change(needs_sign_in=True)
            raise await self._explained(error) from error
        finally:
            self._running_calls -= 1
            self._last_used = self._clock.monotonic()
            self._wake.set()

    async def restart(self) -> None:
        await self.stop()
        self._may_try_at = 0.0
        self._change(state="idle", problem="", hint="", failures=0)
        await self._client()

    async def stop(self) -> None:
        owner = self._owner
        if owner is None:
            return
        self._is_stopping = True
        self._wake.set()
        is_starting = self._ready is not None and not self._ready.done()
        if is_starting or self.is_relisting:  # then it waits for the server, which may never answer
            owner.cancel()
        await asyncio.wait({owner})

    async def aclose(self) -> None:
        try:
            await self.stop()
        finally:
            await self.log.aclose()

    async def _client(self) -> "ServerClient":
        self._last_used = self._clock.monotonic()
        while self._owner is not None and (self._is_stopping or self._is_leaving):
            await asyncio.wait({self._owner})
        if self._owner is None:
            self._require_may_try()
            self._is_stopping = self._is_leaving = False
            self._wake.clear()
            self._ready = asyncio.get_running_loop().create_future()
            self._ready.add_done_callback(lambda ready: ready.cancelled() or ready.exception())  # seen, or asked for
            self._owner = asyncio.create_task(self._own(self._ready), name=f"mcp {self.definition.name}")
            self._owner.add_done_callback(self._over)
        assert self._ready is not None
        return await asyncio.shield(self._ready)

    def _require_may_try(self) -> None:
        status = self.status
        if status.state == "resting":
            title = f"The MCP server {status.name} failed {status.failures} times in a row and is not tried any more."
            raise ServerError(title, hint="Restart it when the cause is fixed.", detail=status.problem)
        wait_s = self._may_try_at - self._clock.monotonic()
        if wait_s > 0:
            title = f"The MCP server {status.name} failed a moment ago: {status.problem}"
            raise ServerError(title, hint=f"It is tried again in {wait_s:.0f} s.")

    async def _own(self, ready: "asyncio.Future[ServerClient]") -> None:
        self._change(state="starting", problem="", hint="", started_at=self._clock.now(), pid=None)
        try:
            async with asyncio.timeout(self.definition.startup_timeout_s) as limit:
                async with self._open_client(self.definition, self._surroundings) as client:
                    tools = await client.tools() if client.facts.has_tools else ()
                    offers = {"tools": tools, **await _all_but_tools(client, self.log)}
                    limit.reschedule(None)
                    offers |= {"facts": client.facts, "left_out": client.left_out}
                    self._change(state="ready", pid=client.pid, failures=0, needs_sign_in=False, **offers)
                    ready.set_result(client)
                    try:
                        problem = await self._attend(client)
                    finally:
                        self._is_leaving = True
            if problem:
                self._failed(ServerError(problem))
            else:
                self._change(state="idle", pid=None)
        except TimeoutError:
            limit_s = self.definition.startup_timeout_s
            title = f"It did not answer within {limit_s:g} s."
            self._failed(ServerError(title, hint="Raise startup_timeout_ms if it only needs longer to start."))
        except ServerError as error:
            self._failed(error)
        except asyncio.CancelledError:
            self._change(state="idle", pid=None)
            raise

    def _over(self, owner: asyncio.Task[None]) -> None:
        """Release waiting callers. A task that is cancelled before it begins cannot do this itself."""
        self._owner = None
        self._relisting.give_up()
        if not owner.cancelled() and (error := owner.exception()) is not None:
            logger.error("The task of the MCP server %s failed", self.definition.name, exc_info=error)
            self._failed(ServerError(f"It failed unexpectedly: {error}"))
        if self._ready is not None and not self._ready.done():
            status = self.status
            problem = status.problem or "It was stopped before it was ready."
            title = f"The MCP server {self.definition.name} could not be started: {problem}"
            self._ready.set_exception(ServerError(title, hint=status.hint))

    async def _attend(self, client: "ServerClient") -> str:
        """Wait until the server has ended or must end; return what went wrong, or an empty text."""
        ended = asyncio.create_task(client.ended(), name=f"mcp {self.definition.name} ends")
        try:
            while not self._is_stopping:
                due_s = self._relisting.due_in_s
                if due_s == 0:
                    limit_s = self.definition.startup_timeout_s
                    with suppress(TimeoutError):
                        async with asyncio.timeout(limit_s):
                            self._change(tools=await self._relisting.run(client.tools), left_out=client.left_out)
                            continue
                    if self._running_calls == 0:  # else it may be busy with them
                        return f"It changed its tools and did not list them within {limit_s:g} s."
                    continue
                left_s = self.definition.ttl_seconds - (self._clock.monotonic() - self._last_used)
                if self._running_calls == 0 and left_s <= 0:
                    return ""
                limits = (due_s, None if self._running_calls else left_s)
                soonest_s = min((limit for limit in limits if limit is not None), default=None)
                pause = () if soonest_s is None else (self._clock.sleep(soonest_s),)
                try:
                    await first_of(asyncio.wait({ended}), self._wake.wait(), *pause)
                finally:
                    self._wake.clear()
                if ended.done():
                    return ended.result()
            return ""
        finally:
            ended.cancel()
            await asyncio.wait({ended})

    def _failed(self, error: ServerError) -> None:
        # A server that waits for the user has not failed: it is tried again once the user has answered.
        needs_sign_in = isinstance(error, SignInNeededError)
        is_untrusted = isinstance(error, NotTrustedError)
        failures = self.status.failures + (not needs_sign_in and not is_untrusted)
        pause_s = 0.0 if is_untrusted else min(FIRST_RETRY_PAUSE_S * 2 ** (failures - 1), LONGEST_RETRY_PAUSE_S)
        self._may_try_at = self._clock.monotonic() + pause_s
        state = "waiting" if is_untrusted else "resting" if failures >= MOST_FAILURES else "failed"
        self.log.say(error.title)
        fields = {"problem": error.title, "hint": error.hint, "failures": failures, "needs_sign_in": needs_sign_in}
        self._change(state=state, pid=None, **fields)

    async def _explained(self, error: ServerError) -> ServerError:
        if isinstance(error, ConnectionLostError):
            if self._owner is not None:
                await asyncio.wait({self._owner}, timeout=_LAST_WORDS_S)
            if self.status.problem:
                title = f"The MCP server {self.definition.name} broke off: {self.status.problem}"
                return ServerError(title, hint=error.hint or self.status.hint, detail=self.log.tail(_LAST_LINES))
        return error

    def _change(self, **fields: object) -> None:
        self.status = replace(self.status, **fields)
        self._on_change(self.status)


_SDK_CLIENT = "desktop_agent.core.mcp.sdk.sdk_client"


class _Key(NamedTuple):
    name: str
    fingerprint: str
    workspace: Path


class Lease:
    def __init__(self, connection: Connection, give_back: Callable[[], None]) -> None:
        self.connection = connection
        self._give_back = give_back
        self._is_over = False

    def give_back(self) -> None:
        """End the use. When nobody uses the server any more, it ends after its idle time."""
        if not self._is_over:
            self._is_over = True
            self._give_back()


class ServerPool:
    """All connections of one application. After `aclose`, no process of any server is left."""

    def __init__(
        self,
        clock: Clock,
        environ: Mapping[str, str],
        logs: Path | None,
        *,
        credentials: ServerCredentials | None = None,
        confiner: ServerConfiner | None = None,
    ) -> None:
        """`environ` has no credentials; `logs` is the folder for the output of servers."""
        self._clock = clock
        self._environ = environ
        self._logs = logs
        self._processes = ProcessRunner(clock)
        self._credentials = credentials
        self._confiner = confiner
        self._connections: dict[_Key, Connection] = {}
        self._users: dict[_Key, int] = {}
        self._listeners: list[Callable[[ServerStatus], None]] = []

    def lease(self, definition: ServerDefinition, workspace: Path) -> Lease:
        """Return a lease of the server's connection. Does not start the server."""
        for unused, users in tuple(self._users.items()):
            if not users and self._connections[unused].status.state not in ("starting", "ready"):
                del self._users[unused], self._connections[unused]
        key = _Key(definition.name, definition.fingerprint, workspace)
        connection = self._connections.get(key)
        if connection is None:
            connection = self._connections[key] = self._connection(definition, workspace)
        connection.definition = definition  # its limits may have changed
        self._users[key] = self._users.get(key, 0) + 1

        def give_back() -> None:
            if key in self._users:
                self._users[key] -= 1

        return Lease(connection, give_back)

    def connections(self, workspace: Path) -> tuple[Connection, ...]:
        return tuple(connection for key, connection in tuple(self._connections.items()) if key.workspace == workspace)

    def activities(self, workspace: Path) -> tuple[tuple[Connection, Activity, bool], ...]:
        """Return a folder's servers that are local processes, with their activity, and whether sessions share them."""
        found: list[tuple[Connection, Activity, bool]] = []
        for key, connection in self._connections.items():
            pid = connection.status.pid if key.workspace == workspace else None
            if pid is not None and (activity := self._processes.activity(pid)) is not None:
                found.append((connection, activity, self._users.get(key, 0) > 1))
        return tuple(found)

    def subscribe(self, listener: Callable[[ServerStatus], None]) -> Callable[[], None]:
        """Call `listener` on the event loop's thread when a server's status changes. Return a function to end that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def reopen(self) -> None:
        self._processes = ProcessRunner(self._clock)

    async def aclose(self) -> None:
        closing, processes = tuple(self._connections.values()), self._processes  # it may be opened again meanwhile
        self._connections.clear()
        self._users.clear()
        try:
            await asyncio.gather(*(connection.aclose() for connection in closing))
        finally:
            await processes.aclose()

    def _connection(self, definition: ServerDefinition, workspace: Path) -> Connection:
        path = self._logs / f"{definition.name}.log" if self._logs is not None else None
        log = ServerLog(path, definition.secrets)

        def confine(command: Command) -> AbstractAsyncContextManager[Command]:
            return self._confined(definition, workspace, command, log)

        surroundings = Surroundings(
            workspace=workspace, environ=self._environ, log=log, confine=confine, tools_changed=lambda: None
        )
        return Connection(definition, surroundings, self._open, self._clock, self._tell)

    @asynccontextmanager
    async def _confined(
        self, definition: ServerDefinition, workspace: Path, command: Command, log: ServerLog
    ) -> AsyncGenerator[Command]:
        await _require_trust(definition)
        program = definition.reached_by
        if not isinstance(program, Program) or program.sandbox is None:
            yield command
        elif self._confiner is None:
            raise ServerError("It must run in the sandbox, and nothing here confines servers, so it was not started.")
        else:
            async with self._confiner.confining(program, workspace, command, log, self._processes) as confined:
                await _require_trust(definition)  # downloading its program may have taken minutes
                yield confined

    @asynccontextmanager
    async def _open(self, definition: ServerDefinition, surroundings: Surroundings) -> OpenedClient:
        if isinstance(definition.reached_by, Address):  # a program is judged right before it is started
            await _require_trust(definition)
        await asyncio.to_thread(import_module, _SDK_CLIENT)  # takes more than a second
        from desktop_agent.core.mcp.sdk.sdk_client import open_client

        async with open_client(
            definition, surroundings, runner=self._processes, credentials=self._credentials
        ) as client:
            yield client

    def _tell(self, status: ServerStatus) -> None:
        for listener in tuple(self._listeners):
            listener(status)


async def _require_trust(definition: ServerDefinition) -> None:
    if definition.may_start is None or await asyncio.to_thread(definition.may_start):
        return
    title = "Files that it runs are not as you trusted them, so it was not started."
    if definition.defined_by == "plugin":
        title = "The files of its plugin have changed, so it was not started."
        raise NotTrustedError(title, hint="Its servers wait until you allow it again: Settings, Plugins.")
    raise NotTrustedError(title, hint=TRUST_AGAIN)
