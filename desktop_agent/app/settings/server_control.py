"""Actions on MCP servers in the settings dialog: show, start, switch, add, import, remove, and sign in."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from desktop_agent.app.connections import WindowBrowser
from desktop_agent.app.controller import Controller, Launch, WindowContext, in_background
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import AgentError, ServerError
from desktop_agent.core.context.tokens import tool_tokens
from desktop_agent.core.mcp.connection import Connection
from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.core.mcp.definition_file import (
    Definitions,
    add_definitions,
    read_definitions,
    remove_definition,
    replace_definition,
    switch_server,
    switch_tool,
    without_secrets,
)
from desktop_agent.core.mcp.new_servers import servers_in_file
from desktop_agent.core.mcp.server_status import TROUBLED, OfferedTool, ServerStatus
from desktop_agent.core.mcp.trust import ToolTrust
from desktop_agent.core.providers.auth.server_sign_ins import (
    ServerKeyring,
    ServerSignIns,
    define_server,
    forget_server,
    keep_client_secret,
)
from desktop_agent.core.settings.loading import FoundTable
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.core.tools.mcp_tool import McpTool
from desktop_agent.ui.settings.settings_view import ServerActions, ServersView, ServerView, SignInProgress, ToolView
from desktop_agent.ui.translation import core_words


class ServerTools:
    def __init__(self, launch: Launch, changed: Callable[[], None]) -> None:
        self._launch = launch
        self._changed = changed
        self._known: dict[str, tuple[tuple[OfferedTool, ...], tuple[ToolView, ...]]] = {}
        self._wanted: dict[str, Connection] = {}
        self._is_looking = False

    def of(self, connection: Connection) -> tuple[ToolView, ...]:
        name, offered = connection.definition.name, connection.status.tools
        listed, views = self._known.get(name, ((), ()))
        if offered == ():
            return ()
        if listed is not offered:
            self._wanted[name] = connection
            if not self._is_looking:
                self._is_looking = True
                self._launch(self._look())
        return views

    async def _look(self) -> None:
        try:
            while self._wanted:
                name, connection = self._wanted.popitem()
                offered = connection.status.tools
                self._known[name] = offered, await asyncio.to_thread(_views, connection, offered)
        finally:
            self._is_looking = False
        self._changed()


def _views(connection: Connection, offered: tuple[OfferedTool, ...]) -> tuple[ToolView, ...]:
    return tuple(_view(McpTool(connection, tool)) for tool in offered)


def _view(tool: McpTool) -> ToolView:
    offered = tool.offered
    about = core_words(offered.unusable) or tool.description.strip().partition("\n")[0]
    tokens = round(tool_tokens([tool.definition()]))
    return ToolView(name=offered.name, about=about, tokens=tokens, is_usable=not offered.unusable)


_LOG_LINES = 60


class TableControl(Controller):
    """Shows and changes tables of the settings, such as those of servers."""

    def __init__(self, context: WindowContext, *, fail: Callable[[AgentError], None]) -> None:
        super().__init__(context)
        self._path = self._bench.live.path or self._bench.paths.settings_file()
        self._keyring = ServerKeyring(self._bench.keys)
        self._fail = fail
        self._project: WorkspaceSettings | None = None
        self._say: Callable[[str], None] = lambda _text: None

    def follow(self, project: WorkspaceSettings | None) -> None:
        self._project = project

    @property
    def _tables(self) -> Sequence[FoundTable]:
        return (self._project or self._bench.live).loaded.tables

    def refresh(self) -> None:
        """Show what is in the settings now."""
        raise NotImplementedError

    async def _look(self) -> None:
        self.refresh()

    async def _write(self, change: Callable[[], object]) -> bool:
        try:
            await asyncio.to_thread(change)
        except AgentError as error:
            self._fail(error)
            return False
        finally:
            await self._bench.live.refresh()
            await self._look()
        return True

    def _taken_words(self, words: str, left_out: Iterable[tuple[str, str]]) -> str:
        """Return `words` about what was imported, and why the rest was not."""
        left = "; ".join(f"{name}: {why}" for name, why in left_out)
        return f"{words} {self.tr('Left out: {0}.').format(left)}" if left else words


class ServerControl(TableControl):
    def __init__(self, context: WindowContext, *, fail: Callable[[AgentError], None]) -> None:
        super().__init__(context, fail=fail)
        launch = self._launch
        self._show: Callable[[ServersView], None] | None = None
        self._connections: dict[str, Connection] = {}
        self._tools = ServerTools(launch, self.refresh)
        self._sign_ins = ServerSignIns(self._keyring, self._bench.paths.data, SystemClock())
        self._progress: dict[str, SignInProgress] = {}
        self._signing_in: dict[str, asyncio.Task[object]] = {}
        self._unsure: set[str] = set()
        """Servers that failed the test with which they were added, until the user keeps them."""
        self._unsubscribe: Callable[[], None] = lambda: None
        self.actions = ServerActions(
            add=in_background(launch, self._add),
            edit=in_background(launch, self._edit),
            keep=self._unsure.discard,
            import_file=in_background(launch, self._import),
            sign_in=in_background(launch, self._sign_in),
            cancel_sign_in=self._cancel_sign_in,
            restart=in_background(launch, self._restart),
            remove=in_background(launch, self._remove),
            switch=in_background(launch, self._switch),
            switch_tool=in_background(launch, self._switch_tool),
        )

    def begin(self, show: Callable[[ServersView], None], say: Callable[[str], None]) -> None:
        self.end()
        self._show, self._say = show, say
        self._unsubscribe = self._bench.shared_tools.servers.subscribe(lambda _status: self.refresh())
        self.refresh()

    def end(self) -> None:
        self._unsubscribe()
        self._unsubscribe = lambda: None
        self._show, self._say = None, lambda _text: None
        for name in tuple(self._unsure):
            self._launch(self._drop(name))

    async def aclose(self) -> None:
        """Remove servers that failed their test, if the window closes before the user decides whether to keep them."""
        with suppress(AgentError):
            for name in tuple(self._unsure):
                await self._remove(name)

    def refresh(self) -> None:
        if self._show is None:
            return
        found = self._definitions
        servers = tuple(map(self._view_of, found.servers))
        self._show(ServersView(servers=servers, problems=tuple(map(str, found.problems))))

    @property
    def _definitions(self) -> Definitions:
        return read_definitions(self._tables)

    @property
    def _workspace(self) -> Path:
        return self._project.root if self._project is not None else Path.home()

    def _view_of(self, definition: ServerDefinition) -> ServerView:
        connection = self._connection(definition)
        return ServerView(
            definition=definition,
            status=connection.status,
            tools=self._tools.of(connection),
            log=connection.log.tail(_LOG_LINES),
            sign_in=self._progress.get(definition.name),
            is_unsure=definition.name in self._unsure,
        )

    def _connection(self, definition: ServerDefinition) -> Connection:
        """Return the connection that sessions use, or its predecessor if that has more to report. Starts no server."""
        lease = self._bench.shared_tools.servers.lease(definition, self._workspace)
        lease.give_back()
        last, current = self._connections.get(definition.name), lease.connection
        is_fresh = current.status == ServerStatus(name=definition.name)
        if not is_fresh or last is None or last.definition.fingerprint != definition.fingerprint:
            self._connections[definition.name] = current
        return self._connections[definition.name]

    async def _sign_in(self, name: str) -> None:
        definition, task = self._definitions.named(name), asyncio.current_task()
        if definition is None or name in self._progress:
            return
        assert task is not None
        self._signing_in[name] = task
        self._show_progress(name, "", is_open=True)
        try:
            await self._sign_ins.sign_in(
                definition, WindowBrowser(lambda address, is_open: self._show_progress(name, address, is_open=is_open))
            )
        except AgentError as error:
            self._fail(error)
            return
        finally:
            del self._signing_in[name], self._progress[name]
            self.refresh()
        await self._restart(name)

    def _show_progress(self, name: str, address: str, *, is_open: bool) -> None:
        self._progress[name] = SignInProgress(address=address, is_open=is_open)
        self.refresh()

    def _cancel_sign_in(self, name: str) -> None:
        if (task := self._signing_in.get(name)) is not None:
            task.cancel()

    async def _restart(self, name: str) -> None:
        self._unsure.discard(name)
        definition = self._definitions.named(name)
        if definition is None:
            return
        shared = self._bench.shared_tools
        shared.take()  # without a session it ends with the test
        lease = shared.servers.lease(definition, self._workspace)
        self._connections[name] = lease.connection
        try:
            await lease.connection.restart()
        except ServerError:
            pass  # its card shows the reason
        finally:
            lease.give_back()
            await shared.give_back()
            self.refresh()

    async def _add(self, definition: ServerDefinition, client_secret: str) -> None:
        if await self._write(lambda: define_server(self._path, definition, self._keyring, client_secret)):
            await self._restart(definition.name)
            tested = self._connections.get(definition.name)  # none if it was removed meanwhile
            if tested and tested.status.state in TROUBLED and not tested.status.needs_sign_in:
                self._unsure.add(definition.name)
                if self._show is None:
                    await self._drop(definition.name)
                self.refresh()

    async def _drop(self, name: str) -> None:
        """Remove a server that failed its test, because the user did not answer whether to keep it."""
        await self._remove(name)
        title = self.tr("The MCP server {0} failed its test, and was removed from your settings.").format(name)
        raise AgentError(
            title, hint=self.tr("To keep a server that fails, choose “Keep it” before you close the settings.")
        )

    async def _edit(self, definition: ServerDefinition, client_secret: str) -> None:
        now = self._definitions.named(definition.name)
        changed = replace(now, reached_by=definition.reached_by) if now is not None else definition
        moved = without_secrets(now)[1].keys() & without_secrets(changed)[1].keys() if now is not None else ()

        def write() -> None:
            replace_definition(self._path, changed, self._keyring)
            if client_secret:
                keep_client_secret(self._keyring, definition, client_secret)

        before = self._connections.get(definition.name)
        if await self._write(write):
            if before is not None:
                await before.stop()
            if moved:
                self._say(self.tr("Moved to the keyring: {0}.").format(", ".join(sorted(moved))))
            await self._restart(definition.name)

    async def _import(self, path: Path) -> None:
        try:
            found = await asyncio.to_thread(servers_in_file, path)
        except AgentError as error:
            self._fail(error)
            return
        refused: list[tuple[str, str]] = []
        if await self._write(lambda: refused.extend(add_definitions(self._path, found.servers, self._keyring))):
            names = [server.name for server in found.servers if server.name not in dict(refused)]
            words = self.tr("Imported: {0}.").format(", ".join(names) or self.tr("none"))
            self._say(self._taken_words(words, (*found.problems, *refused)))

    async def _remove(self, name: str) -> None:
        self._unsure.discard(name)
        self._cancel_sign_in(name)
        definition, connection = self._definitions.named(name), self._connections.get(name)
        if not await self._write(lambda: remove_definition(self._path, name)):
            return
        if connection is not None:
            self._connections.pop(name, None)
            await connection.stop()
        if definition is not None:
            try:
                await forget_server(definition, self._sign_ins, ToolTrust(self._bench.paths.tool_trust))
            except AgentError as error:
                self._fail(error)

    async def _switch(self, name: str, is_on: bool) -> None:
        await self._write(lambda: switch_server(self._path, name, is_enabled=is_on))

    async def _switch_tool(self, name: str, tool: str, is_on: bool) -> None:
        await self._write(lambda: switch_tool(self._path, name, tool, is_enabled=is_on))
