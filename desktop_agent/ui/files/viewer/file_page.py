"""One file of the viewer: its text or picture, and above it messages, and questions before something is lost."""

from pathlib import Path
from typing import Literal

from msgspec.structs import replace
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.base.plain_text import named
from desktop_agent.ui.files.viewer.text_page import TextPage
from desktop_agent.ui.files.viewer.viewer_content import FileContent, obstacle_words
from desktop_agent.ui.review.diff_source import Spawn
from desktop_agent.ui.review.media.picture_canvas import PictureCanvas, ScaleButtons
from desktop_agent.ui.review.media.picture_decoding import DecodedPicture, picture_words
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.banner import BannerFrame
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, hbox, set_names, stack, vbox


class PicturePage(QWidget):
    """Shows one picture."""

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
    """Hidden while there is nothing to say."""

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
    """Shows the file at `path` below `root` once it is given the content."""

    changed = Signal()  # its title, or what can be done with it
    save_pressed = Signal()

    def __init__(self, theme: Theme, root: Path, path: str, spawn: Spawn) -> None:
        super().__init__()
        self.root = root
        self.path = path
        self.content: FileContent | None = None
        self.text: TextPage | None = None
        self.wanted_line = 1
        self.reading = 0
        """Number of read requests: only the answer to the last one counts."""
        self.found: FileContent | None = None
        """The content on disk, where it differs from what the user edits."""
        self.saving_digest: str | None = None
        self.bar = SaveBar()
        self._theme = theme
        self._spawn = spawn
        self._message = make_label(role="secondary", object_name="viewerMessage", wraps=True, is_plain=True)
        self._message.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        note = QWidget()
        vbox(STRETCH, self._message, STRETCH, on=note, margins=(Space.XXL, Space.XXL, Space.XXL, Space.XXL))
        self._note = note
        self._pages = stack(note, on=self)
        vbox(self.bar, (self._pages, 1), on=self)

    @property
    def file(self) -> Path:
        return self.root / self.path

    @property
    def name(self) -> str:
        return named(self.path.rpartition("/")[2])

    @property
    def is_dirty(self) -> bool:
        return self.text is not None and self.text.is_dirty

    def show_content(self, content: FileContent) -> None:
        before = self.content
        if before is not None and (before.path, before.obstacle, before.digest) == (
            content.path,
            content.obstacle,
            content.digest,
        ):
            self.go_to(self.wanted_line)
            return
        line = self.text.line if self.text is not None and not self.wanted_line else max(1, self.wanted_line)
        had_focus = self.isAncestorOf(self.focusWidget() or self)
        self.content = content
        self._show(self._page_for(content, line))
        self.wanted_line = 0 if self.text is not None else line  # it may be back in a moment, at another path
        if had_focus or self.isVisible():
            self.setFocus()
        self.changed.emit()

    def follow(self, path: str) -> None:
        """Show the file under this new path, after a rename. The shown content stays."""
        if self.content is not None and self.content.path == self.path:
            self.content = replace(self.content, path=path)
        self.path = path
        self.changed.emit()

    def go_to(self, line: int) -> None:
        """Go to this line, from 1; 0 keeps the user's place."""
        self.wanted_line = line
        if line and self.text is not None:
            self.text.go_to(line)
            self.wanted_line = 0

    def _page_for(self, content: FileContent, line: int) -> QWidget:
        self.text = None
        if content.text is not None:
            self.text = TextPage(self._theme, content, self._spawn, line)
            self.text.editor.document().modificationChanged.connect(self.changed)
            self.text.editor.save_pressed.connect(self.save_pressed)
            return self.text
        if content.picture is not None and content.picture.is_shown:
            return PicturePage(self._theme, content.picture)
        self._message.setText(obstacle_words(content))
        return self._note

    def _show(self, page: QWidget) -> None:
        old = self._pages.currentWidget()
        if page is not self._note:
            self._pages.addWidget(page)
        self._pages.setCurrentWidget(page)
        self.setFocusProxy(page)
        if old is not None and old is not self._note and old is not page:
            self._pages.removeWidget(old)
            old.deleteLater()
