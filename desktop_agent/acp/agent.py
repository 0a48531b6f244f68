"""The application as an agent of an editor: the protocol's methods, and the sessions that the editor has open."""

import asyncio
import queue
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.acp.session import Editor, EditorSession
from desktop_agent.composition.session_context import SessionOptions
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.agents.peer import INVALID_PARAMS, INVALID_REQUEST, NOT_FOUND, Handler, Peer, RpcError
from desktop_agent.core.agents.wire import read
from desktop_agent.core.base.errors import SessionNotFoundError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.package import __version__
from desktop_agent.core.changes.net import net_state
from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.core.mcp.definition_file import definition_in
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.codec import encode, object_in, objects_in, picked, text_in, texts_in
from desktop_agent.core.protocol.model import ChangeSelection, JsonObject
from desktop_agent.core.session.session import Session
from desktop_agent.core.system.workspace import usable_workspace
from desktop_agent.headless.input_lines import lines_of
from desktop_agent.library.turns import RevertOp

PROTOCOL_VERSION: Final = 1
PATIENCE_S: Final = 10.0
MOST_WAITING_BYTES: Final = 64 * 1024 * 1024
_PAGE: Final = 50
MOST_OPEN: Final = 200
_HUNK: Final = ("old_start", "old_end", "new_start", "new_end")
_SIGN_IN: Final[JsonObject] = {
    "type": "terminal",
    "id": "terminal",
    "name": "Store a key",
    "description": "Asks for the key of the provider in a terminal, and stores it in the system's keyring.",
    "args": ["--sign-in"],
}


class _Place(Struct, rename="camel"):
    cwd: str
    mcp_servers: list[JsonObject] = field(default_factory=list[JsonObject])


class _OldPlace(_Place, rename="camel", kw_only=True):
    session_id: SessionId


class _Named(Struct, rename="camel"):
    session_id: SessionId


class _Prompt(_Named, rename="camel"):
    prompt: list[JsonObject]


class _Mode(_Named, rename="camel"):
    mode_id: str


class _Option(_Named, rename="camel"):
    config_id: str
    value: str | bool


class _Listing(Struct, rename="camel"):
    cwd: str | None = None
    cursor: str | None = None


class _Selected(_Named, rename="camel"):
    selection: ChangeSelection | None = None


class Output:
    """Writes lines in its own thread, because an editor may be slow to read.

    If more than `MOST_WAITING_BYTES` wait, the editor has stopped reading: the output is closed after what waits.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._taken_bytes = 0
        self._written_bytes = 0
        self._is_closed = False
        self._lines: queue.SimpleQueue[bytes | Callable[[], object] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="output lines", daemon=True)
        self._thread.start()

    def send(self, line: str) -> None:
        if self._is_closed:
            return
        content = line.encode() + b"\n"
        self._taken_bytes += len(content)
        self._lines.put(content)
        if self._taken_bytes - self._written_bytes > MOST_WAITING_BYTES:
            self._close()

    async def flushed(self) -> None:
        """Return once everything so far is written: never, if the editor has stopped reading."""
        loop, flushed = asyncio.get_running_loop(), asyncio.Event()
        self._lines.put(lambda: loop.call_soon_threadsafe(flushed.set))
        await flushed.wait()

    async def aclose(self, patience_s: float = 2.0) -> None:
        self._close()
        await asyncio.to_thread(self._thread.join, patience_s)

    def _close(self) -> None:
        self._is_closed = True
        self._lines.put(None)

    def _write(self) -> None:
        with suppress(OSError), self._file:  # when the editor is gone, its input ends too
            while (line := self._lines.get()) is not None:
                if not isinstance(line, bytes):
                    line()
                    continue
                self._file.write(line)
                self._file.flush()
                self._written_bytes += len(line)


class AcpAgent:
    def __init__(
        self, bench: Workbench, options: SessionOptions, output: Output, *, patience_s: float = PATIENCE_S
    ) -> None:
        """`patience_s` is how long the editor may take to answer about a file."""
        self._bench = bench
        self._options = options
        self._output = output
        self._open: dict[SessionId, EditorSession] = {}
        self._locks: defaultdict[SessionId, asyncio.Lock] = defaultdict(asyncio.Lock)
        answer: Mapping[str, Handler] = {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/list": self._list,
            "session/close": self._close,
            "session/delete": self._delete,
            "session/prompt": self._prompt,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_option,
            "_desktop-agent/changes": self._changes,
            "_desktop-agent/undo": self._undo,
            "_desktop-agent/redo": self._redo,
        }
        peer = Peer(output.send, answer, {"session/cancel": self._cancel})
        self._editor = Editor(peer, output.flushed, patience_s)

    async def run(self, descriptor: int) -> None:
        """Serve until the input ends. Then close the sessions; their open questions stay pending."""
        try:
            await self._editor.peer.serve(lines_of(descriptor))
        finally:
            await asyncio.gather(*(one.aclose() for one in tuple(self._open.values())), return_exceptions=True)
            await self._output.aclose()

    # -- the connection --

    async def _initialize(self, params: JsonObject) -> JsonObject:
        able = object_in(params, "clientCapabilities")
        self._editor.note_abilities(able)
        methods = [_SIGN_IN] if object_in(able, "auth").get("terminal") is True else []
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "agentInfo": {"name": "desktop-agent", "title": "Desktop Agent", "version": __version__},
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": True, "embeddedContext": True},
                "mcpCapabilities": {"http": True},
                "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}},
            },
            "authMethods": methods,
        }

    async def _authenticate(self, _params: JsonObject) -> JsonObject:
        raise RpcError(INVALID_PARAMS, "Sign in with `desktop-agent auth set` or `auth sign-in` in a terminal.")

    # -- sessions --

    async def _new(self, params: JsonObject) -> JsonObject:
        place = read(params, _Place)
        folder = await _folder(place.cwd)
        self._require_room()
        opened = EditorSession(self._bench, self._editor)
        options = replace(self._options, servers=_servers(place.mcp_servers), editor=opened.files)
        made = await self._bench.opener.open_unattended(folder, None, options, opened.hear, is_attended=True)
        await self._begin(opened, made.session)
        return {"sessionId": made.session.id, **await opened.modes.document()}

    async def _load(self, params: JsonObject) -> JsonObject:
        return await self._again(params, is_replayed=True)

    async def _resume(self, params: JsonObject) -> JsonObject:
        return await self._again(params, is_replayed=False)

    async def _again(self, params: JsonObject, *, is_replayed: bool) -> JsonObject:
        place = read(params, _OldPlace)
        session_id = place.session_id
        await _folder(place.cwd)
        self._require_room()
        journal = await asyncio.to_thread(self._journal, session_id)
        async with self._locks[session_id]:
            await self._end(session_id)
            opened = EditorSession(self._bench, self._editor)
            options = SessionOptions(servers=_servers(place.mcp_servers), editor=opened.files)
            made = await self._bench.opener.open(session_id, opened.hear, options)
            await self._begin(opened, made.session, journal if is_replayed else None)
        return await opened.modes.document()

    def _require_room(self) -> None:
        if len(self._open) >= MOST_OPEN:
            raise RpcError(INVALID_REQUEST, f"{MOST_OPEN} sessions are open. Close one first.")

    def _journal(self, session_id: SessionId) -> Path:
        try:
            return self._bench.catalog.journal_path(session_id)
        except SessionNotFoundError as error:
            raise RpcError(NOT_FOUND, error.title) from error

    async def _begin(self, opened: EditorSession, session: Session, before: Path | None = None) -> None:
        self._open[session.id] = opened
        try:
            await opened.open(session, before)
        except BaseException:
            await self._end(session.id)
            raise

    async def _end(self, session_id: SessionId) -> None:
        if (opened := self._open.pop(session_id, None)) is not None:
            await opened.aclose()

    def _named(self, session_id: SessionId) -> EditorSession:
        opened = self._open.get(session_id)
        if opened is None:
            raise RpcError(NOT_FOUND, f"The session {session_id} is not open.")
        return opened

    async def _list(self, params: JsonObject) -> JsonObject:
        asked = read(params, _Listing)
        summaries = await asyncio.to_thread(self._bench.catalog.summaries)
        shown = [one for one in summaries if one.is_listed and not one.is_archived]
        if asked.cwd is not None:
            shown = [one for one in shown if one.workspace == asked.cwd]
        cursor = asked.cursor or "0"
        start = int(cursor) if cursor.isdecimal() and len(cursor) < 10 else len(shown)
        sessions = [
            {"sessionId": one.id, "cwd": one.workspace, "title": one.title, "updatedAt": one.updated_at.isoformat()}
            for one in shown[start : start + _PAGE]
        ]
        more: JsonObject = {"nextCursor": str(start + _PAGE)} if start + _PAGE < len(shown) else {}
        return {"sessions": sessions, **more}

    async def _close(self, params: JsonObject) -> JsonObject:
        session_id = read(params, _Named).session_id
        self._named(session_id)
        await self._end(session_id)
        return {}

    async def _delete(self, params: JsonObject) -> JsonObject:
        session_id = read(params, _Named).session_id
        await asyncio.to_thread(self._journal, session_id)
        await self._end(session_id)
        await self._bench.stored.delete(session_id)
        return {}

    # -- turns --

    async def _prompt(self, params: JsonObject) -> JsonObject:
        asked = read(params, _Prompt)
        return await self._named(asked.session_id).prompt(asked.prompt)

    def _cancel(self, params: JsonObject) -> None:
        self._named(read(params, _Named).session_id).cancel()

    async def _set_mode(self, params: JsonObject) -> JsonObject:
        asked = read(params, _Mode)
        await self._named(asked.session_id).set_option("mode", asked.mode_id)
        return {}

    async def _set_option(self, params: JsonObject) -> JsonObject:
        asked = read(params, _Option)
        opened = self._named(asked.session_id)
        await opened.set_option(asked.config_id, asked.value)
        return {"configOptions": await opened.modes.options()}

    # -- changes --

    async def _changes(self, params: JsonObject) -> JsonObject:
        opened = self._named(read(params, _Named).session_id)
        listed: list[JsonObject] = []
        for row in opened.changes.list():
            found = await opened.changes.hunks(row)
            hunks = [{"key": one.key, **picked(one.hunk, *_HUNK)} for one in found]
            facts = picked(row.change, "kind", "added", "removed")
            listed.append({"path": row.path, "state": net_state(row.records), **facts, "hunks": hunks})
        return {"changes": listed}

    async def _undo(self, params: JsonObject) -> JsonObject:
        asked = read(params, _Selected)
        return await self._revert(asked.session_id, ops.UndoChanges(selection=asked.selection or ChangeSelection()))

    async def _redo(self, params: JsonObject) -> JsonObject:
        asked = read(params, _Selected)
        selected = ops.RedoChanges(selection=asked.selection) if asked.selection is not None else ops.RedoSteps()
        return await self._revert(asked.session_id, selected)

    async def _revert(self, session_id: SessionId, op: RevertOp) -> JsonObject:
        outcomes = await self._named(session_id).revert(op)
        return {"outcomes": [encode(one) for one in outcomes]}


async def _folder(cwd: str) -> Path:
    if "\0" in cwd or not Path(cwd).is_absolute():
        raise RpcError(INVALID_PARAMS, "`cwd` is not an absolute path.")
    return await asyncio.to_thread(usable_workspace, Path(cwd), "client")


def _servers(listed: list[JsonObject]) -> tuple[ServerDefinition, ...]:
    """Return the editor's servers. Raises `RpcError` for one that cannot be used."""
    try:
        return tuple(definition_in(_table(one)) for one in listed)
    except ValueError as error:
        raise RpcError(INVALID_PARAMS, f"An MCP server of the editor cannot be used: {error}.") from error


def _table(server: JsonObject) -> JsonObject:
    table: JsonObject = {"name": text_in(server, "name")}
    if "url" in server:
        return table | {"url": text_in(server, "url"), "headers": _pairs(server, "headers")}
    return table | {
        "command": text_in(server, "command"), "args": texts_in(server, "args"), "env": _pairs(server, "env")
    }  # fmt: skip


def _pairs(server: JsonObject, key: str) -> JsonObject:
    return {text_in(one, "name"): text_in(one, "value") for one in objects_in(server, key)}
