"""One file of the viewer: what there is to show of it, and above it what is to be said or asked."""

from pathlib import Path

from msgspec.structs import replace
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.files.file_words import displayed
from desktop_agent.ui.files.viewer.content import FileContent
from desktop_agent.ui.files.viewer.picture_page import PicturePage
from desktop_agent.ui.files.viewer.save_bar import SaveBar
from desktop_agent.ui.files.viewer.text_page import TextPage
from desktop_agent.ui.files.viewer.viewer_words import obstacle_words
from desktop_agent.ui.review.diff_source import Spawn
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, stack, vbox


class FilePage(QWidget):
    """Shows the file at `path` below `root`, once it is given what was read of it.

    Signals:
        changed: its title, or what can be done with it, is different now.
        save_pressed: Ctrl+S in its text.
    """

    changed = Signal()
    save_pressed = Signal()

    def __init__(self, theme: Theme, root: Path, path: str, spawn: Spawn) -> None:
        super().__init__()
        self.root = root
        """The folder that the file is in."""
        self.path = path
        """From that folder on, as it was asked for."""
        self.content: FileContent | None = None
        """What was read of it last."""
        self.text: TextPage | None = None
        """Its text, if that is what is shown."""
        self.wanted_line = 1
        """Where to stand when it is shown."""
        self.reading = 0
        """Counts how often it was asked to be read: the last answer counts."""
        self.found: FileContent | None = None
        """What is on disk, where that is not what the user edits."""
        self.saving_digest: str | None = None
        """Of what is being written."""
        self.bar = SaveBar()
        """What is said and asked above the file."""
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
        """Where it is on disk."""
        return self.root / self.path

    @property
    def name(self) -> str:
        """Its name, as it can be shown."""
        return displayed(self.path.rpartition("/")[2])

    @property
    def is_dirty(self) -> bool:
        """Whether something in it is not saved."""
        return self.text is not None and self.text.is_dirty

    def show_content(self, content: FileContent) -> None:
        """Show what was read, in place of what was shown; the user stays where they were in it."""
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
        """Be the page of this path from now on: the file was renamed. What is shown of it stays."""
        if self.content is not None and self.content.path == self.path:
            self.content = replace(self.content, path=path)
        self.path = path
        self.changed.emit()

    def go_to(self, line: int) -> None:
        """Stand in this line, from 1; 0 stays where the user is."""
        self.wanted_line = line
        if line and self.text is not None:
            self.text.go_to(line)
            self.wanted_line = 0

    def _page_for(self, content: FileContent, line: int) -> QWidget:
        self.text = None
        if content.text is not None:
            self.text = TextPage(self._theme, content, self._spawn, line)
            self.text.dirty_changed.connect(self.changed)
            self.text.save_pressed.connect(self.save_pressed)
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
