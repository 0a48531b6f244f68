"""The servers of the application: one connection for all sessions of a folder, ended when no session uses it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.client import ServerCredentials, Surroundings
from desktop_agent.core.mcp.confining import ServerConfiner
from desktop_agent.core.mcp.connection import Connection, OpenedClient
from desktop_agent.core.mcp.definition import Program, ServerDefinition
from desktop_agent.core.mcp.server_log import ServerLog
from desktop_agent.core.mcp.server_status import ServerStatus
from desktop_agent.core.system.processes.process_tree import Activity
from desktop_agent.core.system.processes.runner import Command, ProcessRunner

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
        connection.definition = definition  # its limits may be others than before
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
        program = definition.reached_by
        if not isinstance(program, Program) or program.sandbox is None:
            yield command
        elif self._confiner is None:
            raise ServerError("It must run in the sandbox, and nothing here confines servers, so it was not started.")
        else:
            async with self._confiner.confining(program, workspace, command, log, self._processes) as confined:
                yield confined

    @asynccontextmanager
    async def _open(self, definition: ServerDefinition, surroundings: Surroundings) -> OpenedClient:
        await asyncio.to_thread(import_module, _SDK_CLIENT)  # takes more than a second
        from desktop_agent.core.mcp.sdk.sdk_client import open_client

        async with open_client(
            definition, surroundings, runner=self._processes, credentials=self._credentials
        ) as client:
            yield client

    def _tell(self, status: ServerStatus) -> None:
        for listener in tuple(self._listeners):
            listener(status)
