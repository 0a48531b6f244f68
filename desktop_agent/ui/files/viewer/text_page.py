"""The text of a file, with numbers, colours, and ways to find something in it."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QHideEvent, QTextCursor
from PySide6.QtWidgets import QWidget

from desktop_agent.core.merge.edited_text import EditedText
from desktop_agent.ui.files.viewer.content import FileContent
from desktop_agent.ui.files.viewer.line_bar import LineBar
from desktop_agent.ui.files.viewer.line_numbers import LineNumbers
from desktop_agent.ui.files.viewer.text_finder import TextFinder
from desktop_agent.ui.review.diff.highlighter import EditorColours
from desktop_agent.ui.review.diff_source import Spawn
from desktop_agent.ui.review.file_editor import FileEditor
from desktop_agent.ui.review.media.picture_decoding import size_words
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation.plurals import plural
from desktop_agent.ui.widgets.find_bar import FindBar
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hairline, hbox, vbox


class TextPage(QWidget):
    """Shows the text of `content`, and stands in a line of it (from 1).

    Signals:
        dirty_changed: there is something, or no longer anything, that is not saved.
        save_pressed: Ctrl+S in the text.
    """

    dirty_changed = Signal()
    save_pressed = Signal()

    def __init__(self, theme: Theme, content: FileContent, spawn: Spawn, line: int) -> None:
        super().__init__()
        assert content.text is not None
        self._content = content
        self._shown = content.text.shown if isinstance(content.text, EditedText) else content.text
        self.editor = FileEditor(content.text, theme, is_marked=False)
        """The field with the text."""
        self.editor.setObjectName("viewerText")
        self.editor.setAccessibleName(self.tr("Text of {0}").format(content.path))
        self._colours = EditorColours(theme, self.editor)
        self._finder = TextFinder(theme, self.editor, self._text, spawn)
        self.find_bar = FindBar(
            self._finder, self._finder.found, self.editor, self.tr("Find in this file"), name="viewerFindBar"
        )
        self.line_bar = LineBar()
        self._where = make_label(role="secondary", object_name="viewerWhere")
        facts = make_label(self._facts(), role="secondary", object_name="viewerFacts")
        foot = hbox((self._where, 1), facts, margins=(Space.M, Space.XS, Space.M, Space.XS), spacing=Space.M)
        text = hbox(LineNumbers(theme, self.editor), (self.editor, 1))
        vbox(self.find_bar, self.line_bar, (text, 1), hairline(), foot, on=self)
        self.setFocusProxy(self.editor)
        self._connect()
        self.editor.fill(line - 1)
        self._colours.set_path(content.path)
        self._show_where()

    @property
    def is_editable(self) -> bool:
        """Whether it is short enough to be edited."""
        return isinstance(self._content.text, EditedText)

    @property
    def is_dirty(self) -> bool:
        """Whether something is not saved."""
        return self.editor.is_ready and self.editor.document().isModified()

    def encode(self, written: str) -> bytes:
        """Return the file's bytes with this text in it; what was not touched is as it was. Meant for a thread.

        Raises `UnicodeEncodeError` for a character that the file's encoding does not have.
        """
        assert isinstance(self._content.text, EditedText)
        return self._content.text.encoded(written)

    @property
    def line(self) -> int:
        """Where the user is, from 1."""
        return self.editor.textCursor().blockNumber() + 1

    def go_to(self, line: int) -> None:
        """Show a line, from 1, and stand in it; the last one for a number beyond."""
        last = self.editor.blockCount()
        self.editor.setTextCursor(QTextCursor(self.editor.document().findBlockByNumber(min(line, last) - 1)))
        self.editor.centerCursor()

    def open_find(self) -> None:
        """Let the user search."""
        self.line_bar.hide()
        self.find_bar.open_bar()

    def open_line(self) -> None:
        """Let the user give the number of a line."""
        self.find_bar.close_bar()
        self.line_bar.open_bar(self.line, self.editor.blockCount())

    def _connect(self) -> None:
        self.editor.cursorPositionChanged.connect(self._show_where)
        self.editor.document().modificationChanged.connect(self.dirty_changed)
        self.editor.save_pressed.connect(self.save_pressed)
        self.editor.cancel_pressed.connect(self._on_escape)
        self.line_bar.chosen.connect(self.go_to)
        self.line_bar.closed.connect(self._on_line_closed)

    def _text(self) -> str:
        """What is searched: what was read, which costs nothing to take, unless it was changed since."""
        is_as_read = not self.editor.is_ready or not self.editor.document().isModified()
        return self._shown if is_as_read else self.editor.content()

    def _on_escape(self) -> None:
        if self.find_bar.isVisible():
            self.find_bar.close_bar()
        elif self.line_bar.isVisible():
            self.line_bar.close_bar()

    def _on_line_closed(self) -> None:
        self.editor.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_where(self) -> None:
        cursor = self.editor.textCursor()
        self._where.setText(
            self.tr("Line {0}, column {1}").format(cursor.blockNumber() + 1, cursor.positionInBlock() + 1)
        )

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._colours.stop()

    def _facts(self) -> str:
        content = self._content
        count = content.line_count
        lines = plural("TextPage", count, "%n line", "%n lines")
        facts = [content.encoding, content.endings, lines, size_words(content.size_bytes)]
        if not self.is_editable:
            facts.insert(0, self.tr("Too long to be edited here"))
        return " · ".join(filter(None, facts))
