"""Saves what the user wrote into files, and asks when a file was changed on disk meanwhile."""

import asyncio
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QDialog, QWidget
from shiboken6 import isValid

from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.core.system.files import digest_of
from desktop_agent.ui.files.viewer.file_page import FilePage
from desktop_agent.ui.files.viewer.file_tabs import FileTabs
from desktop_agent.ui.files.viewer.viewer_content import FileContent, read_content
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff_source import Spawn
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import lay_out_dialog, set_up_dialog


class FileStore(Protocol):
    """Reads and writes files off the window's thread."""

    async def save(self, root: Path, path: str, expected: str | None, content: bytes) -> str:
        """Write a file below `root` if its digest is `expected` (`None`: the file does not exist).

        Return why it was not written; empty when it was.
        """
        ...

    async def compare(self, path: str, before: bytes | None, after: bytes) -> FileDiff: ...


class DifferenceDialog(QDialog):
    """Shows the difference between the file on disk and the user's text. Show it with `open()`."""

    def __init__(self, theme: Theme, diff: FileDiff, parent: QWidget) -> None:
        super().__init__(parent)
        set_up_dialog(self, "viewerDifferenceDialog", self.tr("From the file on disk to yours"))
        view = DiffView(theme)
        view.setObjectName("viewerDiffView")
        close = make_button(self.tr("Close"), clicked=self.accept)
        title = make_label(self.windowTitle(), role="title")
        lay_out_dialog(self, title, (view, 1), answers=(close,), spacing=Space.M)
        self.resize(parent.size() * 0.9)
        view.show_diff(diff)
        view.setFocus()


class PageSaving(QObject):
    """Saves the files in `tabs` through `store`. Asks before it overwrites a file that was changed elsewhere."""

    def __init__(self, theme: Theme, tabs: FileTabs, store: FileStore, spawn: Spawn) -> None:
        super().__init__(tabs)
        self._theme = theme
        self._tabs = tabs
        self._store = store
        self._spawn = spawn
        tabs.close_requested.connect(self.ask_before_closing)

    def attach(self, page: FilePage) -> None:
        page.bar.compare.clicked.connect(self._compare)
        page.bar.overwrite.clicked.connect(self._overwrite)
        page.bar.reload.clicked.connect(self._reload)
        page.bar.save.clicked.connect(self._save_and_close)
        page.bar.discard.clicked.connect(self._discard)
        page.save_pressed.connect(self.save_current)

    def take(self, page: FilePage, content: FileContent) -> None:
        """Show the content that was read for a file; ask first if that would drop the user's changes."""
        if not page.is_dirty or page.content is None:
            page.found = None
            page.show_content(content)
            return
        is_as_read = content.digest in (page.content.digest, page.saving_digest) and not content.obstacle
        if is_as_read:
            page.found = None
            if page.bar.stage in ("stale", "gone"):
                page.bar.close_bar()
        elif page.bar.stage != "closing":
            page.found = content
            page.bar.ask("gone" if content.obstacle == "gone" else "stale")

    def save_current(self) -> None:
        page = self._tabs.current
        if page is not None and page.is_dirty and page.saving_digest is None:
            self._spawn(self._save(page))

    def ask_before_closing(self, page: FilePage) -> None:
        self._tabs.show_page(page)
        page.bar.ask("closing")

    def _save_and_close(self) -> None:
        if (page := self._tabs.current) is not None:
            self._spawn(self._save(page, closes=True))

    def _discard(self) -> None:
        if (page := self._tabs.current) is not None:
            self._tabs.drop(page)

    def _reload(self) -> None:
        if (page := self._tabs.current) is not None and page.found is not None:
            page.bar.close_bar()
            page.show_content(page.found)
            page.found = None

    def _overwrite(self) -> None:
        page = self._tabs.current
        if page is not None and page.found is not None and page.content is not None:
            page.content = replace(page.content, digest=page.found.digest)  # what the user knows to be there
            page.found = None
            page.bar.close_bar()
            self._spawn(self._save(page))

    def _compare(self) -> None:
        if (page := self._tabs.current) is not None:
            self._spawn(self._show_difference(page))

    async def _save(self, page: FilePage, *, closes: bool = False) -> None:
        text, known = page.text, page.content
        if text is None or known is None:
            return
        written, revision = text.editor.content(), text.editor.document().revision()
        try:
            content = await asyncio.to_thread(text.encode, written)
        except UnicodeEncodeError:
            page.bar.ask("failed", self.tr("A character does not fit the encoding of this file."))
            return
        page.saving_digest = await asyncio.to_thread(digest_of, content)
        on_disk = await asyncio.to_thread(read_content, page.root, page.path)
        reason = ""
        if (is_current := on_disk.digest == known.digest) and on_disk.digest != page.saving_digest:
            reason = await self._store.save(page.root, known.path, known.digest, content)
        if not isValid(page) or page.text is not text:
            return
        saved, page.saving_digest = page.saving_digest, None
        if not is_current:
            page.bar.close_bar()
            self.take(page, on_disk)
        elif reason:
            page.bar.ask("failed", reason)
        else:
            self._note_saved(page, saved, is_whole=text.editor.document().revision() == revision)
            if closes:
                self._tabs.close_page(page)

    def _note_saved(self, page: FilePage, digest: str | None, *, is_whole: bool) -> None:
        assert page.content is not None
        assert page.text is not None
        page.content = replace(page.content, digest=digest)
        page.bar.close_bar()
        if is_whole:
            page.text.editor.document().setModified(False)

    async def _show_difference(self, page: FilePage) -> None:
        text = page.text
        if text is None:
            return
        mine = await asyncio.to_thread(text.encode, text.editor.content())
        theirs = await asyncio.to_thread(_bytes_of, page)
        diff = await self._store.compare(page.path, theirs, mine)
        if isValid(page):
            DifferenceDialog(self._theme, diff, page.window()).open()


def _bytes_of(page: FilePage) -> bytes | None:
    try:
        return page.file.read_bytes()
    except OSError:
        return None
