"""The editor: what it can do, and the files that it has open, for tools, which ask from threads."""

import asyncio
import concurrent.futures
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct, field

from desktop_agent.core.agents.peer import INTERNAL_ERROR, Peer, RpcError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import object_in
from desktop_agent.core.protocol.model import JsonObject

_READ: Final = "fs/read_text_file"
_WRITE: Final = "fs/write_text_file"

T = TypeVar("T")


class Editor(Struct):
    peer: Peer
    flushed: Callable[[], Awaitable[None]]
    """Returns when the editor has taken everything that it was told."""
    patience_s: float
    """How long an answer about a file may take. An editor that takes longer is not asked again."""
    shows_notices: bool = False
    fills_forms: bool = False
    file_methods: set[str] = field(default_factory=set[str])

    def note_abilities(self, able: JsonObject) -> None:
        files = object_in(able, "fs")
        self.shows_notices = "notices" in object_in(able, "session")
        self.fills_forms = "form" in object_in(able, "elicitation")
        offered = {_READ: files.get("readTextFile"), _WRITE: files.get("writeTextFile")}
        self.file_methods = {method for method, is_offered in offered.items() if is_offered is True}


class EditorFiles:
    def __init__(self, editor: Editor, session_id: Callable[[], SessionId], hear: Callable[[ev.Notice], None]) -> None:
        """`hear` is told when the editor is not asked any more."""
        self._editor = editor
        self._session_id = session_id
        self._hear = hear
        self._loop = asyncio.get_running_loop()

    @property
    def can_write(self) -> bool:
        return _WRITE in self._editor.file_methods

    def read(self, path: Path) -> str | None:
        if _READ not in self._editor.file_methods:
            return None
        try:
            return self._ask(self._read(path))
        except RpcError:  # it does not know the file, or it has gone
            return None

    def write(self, path: Path, text: str) -> str:
        try:
            self._ask(self._answer(_WRITE, path, content=text))
        except RpcError as error:
            return error.message or "It does not say why."
        return ""

    async def _read(self, path: Path) -> str | None:
        content = (await self._answer(_READ, path)).get("content")
        if isinstance(content, str):
            return content
        self._give_up(_READ, f"The editor's answer has no text of {path.name}.")
        return None

    async def _answer(self, method: str, path: Path, **more: object) -> JsonObject:
        params: JsonObject = {"sessionId": self._session_id(), "path": str(path), **more}
        try:
            async with asyncio.timeout(self._editor.patience_s):
                return await self._editor.peer.ask(method, params)
        except TimeoutError as error:
            words = f"The editor did not answer when asked to {'read' if method == _READ else 'save'} {path.name}."
            self._give_up(method, words)
            raise RpcError(INTERNAL_ERROR, words) from error

    def _give_up(self, method: str, title: str) -> None:
        self._editor.file_methods.discard(method)
        way = "read from disk: save them before the agent reads them" if method == _READ else "written to disk"
        self._hear(ev.Notice(level="warning", code="editor", title=title, hint=f"From now on, files are {way}."))

    def _ask(self, answer: Coroutine[object, object, T]) -> T:
        try:
            return asyncio.run_coroutine_threadsafe(answer, self._loop).result()
        except concurrent.futures.CancelledError as error:
            raise RpcError(INTERNAL_ERROR, "The editor has gone.") from error
