"""The colours of the lines of an editor that are in view, found anew when the text has come to rest."""

from collections.abc import Sequence
from typing import overload

from PySide6.QtCore import QObject, QRect, QTimer
from PySide6.QtGui import QTextBlock, QTextCharFormat, QTextDocument, QTextLayout
from PySide6.QtWidgets import QPlainTextEdit

from desktop_agent.ui.review.diff.highlighter import Highlighter
from desktop_agent.ui.review.diff.syntax import LineSpans
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.wording.visible_text import utf16_length

_REST_MS = 80
"""After the last letter that was typed: until then the colours of before stay."""


class DocumentLines(Sequence[str]):
    """The lines of a document as they are when they are asked for: of a long one, only those in view ever are."""

    def __init__(self, document: QTextDocument) -> None:
        self._document = document

    def __len__(self) -> int:
        return self._document.blockCount()

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, int):
            if not 0 <= index < len(self):
                raise IndexError(index)
            return self._document.findBlockByNumber(index).text()
        return [self[number] for number in range(*index.indices(len(self)))]


class EditorColours(QObject):
    """Colours an editor without a highlighter over its whole document, which would freeze on a long one."""

    def __init__(self, theme: Theme, editor: QPlainTextEdit) -> None:
        super().__init__(editor)
        self._theme = theme
        self._editor = editor
        self._path = ""
        self._is_outdated = False
        """Whether it was stopped before the text had come to rest."""
        self._highlighter = Highlighter(self)
        self._highlighter.changed.connect(self._paint)
        self._rest = QTimer(self, interval=_REST_MS, singleShot=True)
        self._rest.timeout.connect(self._start_over)
        editor.document().contentsChange.connect(self._on_contents_changed)
        editor.updateRequest.connect(self._on_update)
        theme.changed.connect(self._paint)

    def set_path(self, path: str) -> None:
        """Colour the text as the language of this file name."""
        self._path = path
        self._start_over()

    def stop(self) -> None:
        """Work no more until the editor is painted again."""
        self._highlighter.stop()
        self._is_outdated |= self._rest.isActive()
        self._rest.stop()

    def _on_contents_changed(self) -> None:
        if self._editor.isVisible():
            self._rest.start()
        else:
            self._is_outdated = True

    def _on_update(self, _area: QRect, scrolled: int) -> None:
        if not self._editor.isVisible():
            return
        if self._is_outdated:
            self._is_outdated = False
            self._rest.start()
        elif not self._rest.isActive():
            self._request()
            if scrolled:  # lines that came into view may have known colours that were not given to them
                self._paint()

    def _start_over(self) -> None:
        self._highlighter.set_text(self._path, (), DocumentLines(self._editor.document()))
        self._request()

    def _request(self) -> None:
        self._highlighter.forget_requests()
        self._highlighter.request("new", [block.blockNumber() for block in self._in_view()])

    def _in_view(self) -> list[QTextBlock]:
        editor, found = self._editor, list["QTextBlock"]()
        block = editor.cursorForPosition(editor.viewport().rect().topLeft()).block()
        room = editor.viewport().height() // max(1, editor.fontMetrics().height()) + 2
        while block.isValid() and len(found) < room:
            found.append(block)
            block = block.next()
        return found

    def _paint(self) -> None:
        """Give the lines in view their colours, as far as these are known."""
        for block in self._in_view():
            ranges = self._ranges(block.text(), self._highlighter.spans("new", block.blockNumber()))
            if ranges != block.layout().formats():
                block.layout().setFormats(ranges)
                self._editor.document().markContentsDirty(block.position(), block.length())

    def _ranges(self, text: str, spans: LineSpans) -> list[QTextLayout.FormatRange]:
        ranges: list[QTextLayout.FormatRange] = []
        for start, end, role in spans:
            found = QTextLayout.FormatRange()
            found.start = utf16_length(text[:start])
            found.length = utf16_length(text[start:end])
            found.format = QTextCharFormat()
            found.format.setForeground(self._theme.colour(role))
            ranges.append(found)
        return ranges
