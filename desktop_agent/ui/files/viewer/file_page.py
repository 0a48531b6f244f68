"""One file of the viewer: reading, showing, saving, and questions before something is lost."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Literal, Protocol

from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QDialog, QWidget
from shiboken6 import isValid

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.files.viewer.text_page import FileContent, TextPage, content_of, obstacle_words, read_content
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff_source import Spawn
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.banner import BannerFrame
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.focus import has_focus_within
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import (
    STRETCH,
    hairline,
    hbox,
    lay_out_dialog,
    set_names,
    set_up_dialog,
    stack,
    vbox,
)
from desktop_agent.ui.widgets.picture_canvas import PictureCanvas, ScaleButtons
from desktop_agent.ui.widgets.picture_decoding import DecodedPicture, picture_words

_tr = partial(QCoreApplication.translate, "PageSaving")


class FileStore(Protocol):
    async def save(self, root: Path, path: str, expected: str | None, content: bytes) -> str:
        """Write a file below `root` if its digest is `expected` (`None`: no file). Return why not; empty on success."""
        ...

    async def compare(self, path: str, before: bytes | None, after: bytes) -> FileDiff: ...


class DifferenceDialog(QDialog):
    def __init__(self, theme: Theme, diff: FileDiff, parent: QWidget) -> None:
        super().__init__(parent)
        set_up_dialog(self, "viewerDifferenceDialog", self.tr("Differences between the file on disk and yours"))
        view = DiffView(theme)
        view.setObjectName("viewerDiffView")
        close = make_button(self.tr("Close"), clicked=self.accept)
        title = make_label(self.windowTitle(), role="title")
        lay_out_dialog(self, title, (view, 1), answers=(close,), spacing=Space.M)
        self.resize(parent.size() * 0.9)
        view.show_diff(diff)
        view.setFocus()


class PicturePage(QWidget):
    def __init__(self, theme: Theme, picture: DecodedPicture) -> None:
        super().__init__()
        words = picture_words(picture)
        canvas = PictureCanvas(theme)
        set_names(canvas, "viewerPicture", self.tr("Picture, {0}").format(words))
        facts = make_label(words, role="secondary", object_name="viewerFacts")
        scale = ScaleButtons(canvas).parts
        foot = hbox((facts, 1), *scale, margins=(Space.M, Space.XS, Space.M, Space.XS), spacing=Space.S)
        vbox((canvas, 1), hairline(), foot, on=self)
        self.setFocusProxy(canvas)
        canvas.show_pictures(picture)


SaveStage = Literal["", "stale", "gone", "closing", "failed"]


class SaveBar(BannerFrame):
    def __init__(self) -> None:
        super().__init__("viewerSaveBar")
        self.stage: SaveStage = ""
        self.compare = self.add_button(self.tr("Show difference"), "viewerCompareButton")
        self.overwrite = self.add_button(self.tr("Overwrite"), "viewerOverwriteButton")
        self.reload = self.add_button(self.tr("Reload"), "viewerReloadButton")
        self.save = self.add_button(self.tr("Save"), "viewerSaveNowButton")
        self.discard = self.add_button(self.tr("Discard"), "viewerDiscardButton")
        self._later = self.add_button(self.tr("Keep editing"), "viewerGoOnButton", is_flat=True)
        self._later.clicked.connect(self.close_bar)

    def ask(self, stage: SaveStage, reason: str = "") -> None:
        words = {
            "": ("", ""),
            "stale": (
                self.tr("This file was changed on disk since you began to edit it."),
                self.tr("Overwrite writes your version; Reload drops it and shows the file as it is."),
            ),
            "gone": (
                self.tr("This file was deleted or moved since you began to edit it."),
                self.tr("Overwrite writes your version as a new file; Reload drops it."),
            ),
            "closing": (self.tr("Your changes to this file are not saved."), ""),
            "failed": (reason, self.tr("Nothing was written; your text is still here.")),
        }
        self.stage = stage
        self.say(*words[stage])
        self.compare.setVisible(stage == "stale")
        self.overwrite.setVisible(stage in ("stale", "gone"))
        self.reload.setVisible(stage in ("stale", "gone"))
        self.save.setVisible(stage == "closing")
        self.discard.setVisible(stage == "closing")
        self._later.setVisible(stage in ("closing", "failed"))
        self.setVisible(bool(stage))

    def close_bar(self) -> None:
        self.ask("")


class FilePage(QWidget):
    """Shows and saves the file at `path` below `root`. Asks before it overwrites a file that was changed elsewhere."""

    changed = Signal()  # its title, or the available actions
    close_requested = Signal(object)  # the page itself

    def __init__(self, theme: Theme, root: Path, path: str, store: FileStore, spawn: Spawn) -> None:
        super().__init__()
        self.root = root
        self.path = path
        self.content: FileContent | None = None
        self.text: TextPage | None = None
        self.wanted_line = 1
        self.bar = SaveBar()
        self._theme = theme
        self._store = store
        self._spawn = spawn
        self._reading = 0
        """The number of the last read request: only its answer counts."""
        self._found: FileContent | None = None
        """The content on disk if it differs from the one that the user edits."""
        self._saving_digest: str | None = None
        self._message = make_label(role="secondary", object_name="viewerMessage", wraps=True, is_plain=True)
        self._message.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        note = QWidget()
        vbox(STRETCH, self._message, STRETCH, on=note, margins=(Space.XXL, Space.XXL, Space.XXL, Space.XXL))
        self._note = note
        self._pages = stack(note, on=self)
        vbox(self.bar, (self._pages, 1), on=self)
        self.bar.compare.clicked.connect(self._compare)
        self.bar.overwrite.clicked.connect(self._overwrite)
        self.bar.reload.clicked.connect(self._reload)
        self.bar.save.clicked.connect(self._save_and_close)
        self.bar.discard.clicked.connect(self._discard)

    @property
    def file(self) -> Path:
        return self.root / self.path

    @property
    def name(self) -> str:
        return named(self.path.rpartition("/")[2])

    @property
    def is_dirty(self) -> bool:
        return self.text is not None and self.text.is_dirty

    def read(self) -> None:
        self._reading += 1
        self._spawn(self._read(self._reading))

    def save(self) -> None:
        if self.is_dirty and self._saving_digest is None:
            self._spawn(self._save())

    def _show_content(self, content: FileContent) -> None:
        before = self.content
        if before is not None and (before.path, before.obstacle, before.digest) == (
            content.path,
            content.obstacle,
            content.digest,
        ):
            self.go_to(self.wanted_line)
            return
        line = self.text.line if self.text is not None and not self.wanted_line else max(1, self.wanted_line)
        had_focus = has_focus_within(self)
        self.content = content
        page = self._page_for(content, line)
        old = self._pages.currentWidget()
        if page is not self._note:
            self._pages.addWidget(page)
        self._pages.setCurrentWidget(page)
        self.setFocusProxy(page)
        if old is not None and old is not self._note and old is not page:
            self._pages.removeWidget(old)
            old.deleteLater()
        self.wanted_line = 0 if self.text is not None else line  # the file may return in a moment, at another path
        if had_focus:
            self.setFocus()
        self.changed.emit()

    def follow(self, path: str) -> None:
        if self.content is not None and self.content.path == self.path:
            self.content = replace(self.content, path=path)
        self.path = path
        self.changed.emit()

    def go_to(self, line: int) -> None:
        """Lines count from 1. With 0, the user's position stays."""
        self.wanted_line = line
        if line and self.text is not None:
            self.text.go_to(line)
            self.wanted_line = 0

    def _page_for(self, content: FileContent, line: int) -> QWidget:
        self.text = None
        if content.text is not None:
            self.text = TextPage(self._theme, content, self._spawn, line)
            self.text.editor.document().modificationChanged.connect(self.changed)
            self.text.editor.save_pressed.connect(self.save)
            return self.text
        if content.picture is not None and content.picture.is_shown:
            return PicturePage(self._theme, content.picture)
        self._message.setText(obstacle_words(content))
        return self._note

    async def _read(self, reading: int) -> None:
        content = await asyncio.to_thread(read_content, self.root, self.path)
        if isValid(self) and reading == self._reading:
            self._receive(content)

    def _receive(self, content: FileContent) -> None:
        if not self.is_dirty or self.content is None:
            self._found = None
            self._show_content(content)
            return
        is_as_read = content.digest in (self.content.digest, self._saving_digest) and not content.obstacle
        if is_as_read:
            self._found = None
            if self.bar.stage in ("stale", "gone"):
                self.bar.close_bar()
        elif self.bar.stage != "closing":
            self._found = content
            self.bar.ask("gone" if content.obstacle == "gone" else "stale")

    def _save_and_close(self) -> None:
        self._spawn(self._save(closes=True))

    def _discard(self) -> None:
        if self.text is not None:
            self.text.editor.document().setModified(False)
        self.close_requested.emit(self)

    def _reload(self) -> None:
        if self._found is not None:
            self.bar.close_bar()
            self._show_content(self._found)
            self._found = None

    def _overwrite(self) -> None:
        if self._found is not None and self.content is not None:
            self.content = replace(self.content, digest=self._found.digest)  # the user has seen this content
            self._found = None
            self.bar.close_bar()
            self._spawn(self._save())

    def _compare(self) -> None:
        self._spawn(self._show_difference())

    async def _save(self, *, closes: bool = False) -> None:
        text, known = self.text, self.content
        if text is None or known is None:
            return
        document = text.editor.document()
        written, revision = text.editor.content(), document.revision()
        try:
            content = await asyncio.to_thread(text.encode, written)
        except UnicodeEncodeError:
            self.bar.ask("failed", _tr("A character does not fit the encoding of this file."))
            return
        saved = await asyncio.to_thread(content_of, known.path, content)
        self._saving_digest = saved.digest
        on_disk = await asyncio.to_thread(read_content, self.root, self.path)
        reason = ""
        if (is_current := on_disk.digest == known.digest) and on_disk.digest != self._saving_digest:
            reason = await self._store.save(self.root, known.path, known.digest, content)
        if not isValid(self) or self.text is not text:
            return
        self._saving_digest = None
        if not is_current:
            self.bar.close_bar()
            self._receive(on_disk)
        elif reason:
            self.bar.ask("failed", reason)
        else:
            self.content = replace(self.content or known, digest=saved.digest)
            text.show_facts(saved)
            self.bar.close_bar()
            if document.revision() == revision:
                document.setModified(False)
            if closes:
                self.close_requested.emit(self)

    async def _show_difference(self) -> None:
        if (text := self.text) is None:
            return
        mine = await asyncio.to_thread(text.encode, text.editor.content())
        diff = await self._store.compare(self.path, await asyncio.to_thread(_bytes_of, self.file), mine)
        if isValid(self):
            DifferenceDialog(self._theme, diff, self.window()).open()


def _bytes_of(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None
