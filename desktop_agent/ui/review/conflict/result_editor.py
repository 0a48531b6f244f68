"""The text that will be written, with the places that clash in it: each can be filled by a choice or by hand."""

from itertools import chain

from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QHideEvent, QPainter, QPaintEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QFrame, QPlainTextEdit

from desktop_agent.core.merge.edited_text import editor_text, encode_edited
from desktop_agent.core.merge.three_way import Choice, ThreeWay
from desktop_agent.ui.review.diff.highlighter import EditorColours
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.wording.visible_text import utf16_length

_KEEP = QTextCursor.MoveMode.KeepAnchor


class ResultEditor(QPlainTextEdit):
    """Starts with everything merged that merges, and with the user's own lines where it clashes.

    Signals:
        decided: something was chosen, or edited by hand.
    """

    decided = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._three: ThreeWay | None = None
        self._choices: list[Choice] = []
        self._places: list[QTextCursor] = []
        self._edited: set[int] = set()
        self._current = 0
        self._is_choosing = False
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setProperty("variant", "bare")
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.document().setDocumentMargin(Space.S)
        self.setViewportMargins(Space.M, 0, 0, 0)
        self.document().contentsChange.connect(self._on_contents_changed)
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()
        self._colours = EditorColours(theme, self)

    # -- what was decided --

    @property
    def choices(self) -> tuple[Choice, ...]:
        """What was chosen for each clash."""
        return tuple(self._choices)

    @property
    def edited(self) -> frozenset[int]:
        """The clashes in which there is something else than what was chosen: the user wrote it."""
        return frozenset(self._edited)

    @property
    def undecided(self) -> tuple[int, ...]:
        """The clashes for which nothing was chosen, and that were not edited."""
        open_ones = (number for number, choice in enumerate(self._choices) if choice == "undecided")
        return tuple(number for number in open_ones if number not in self._edited)

    def show_three(self, three: ThreeWay, path: str = "") -> None:
        """Start with the merge of these, in the colours of the language of `path`."""
        self._three = three
        self._choices = ["undecided"] * len(three.clashes)
        self._places = []
        self._edited.clear()
        self._current = 0
        spans: list[tuple[int, int]] = []
        texts: list[str] = []
        at = 0
        for region, lines in zip(three.regions, three.pieces(self._choices), strict=True):
            text = editor_text(lines, is_start=at == 0)
            end = at + utf16_length(text)
            if region.origin == "clash":
                spans.append((at, end))
            texts.append(text)
            at = end
        self._is_choosing = True
        self.setPlainText("".join(texts))
        self._is_choosing = False
        self._places = [self._cursor(start, end) for start, end in spans]
        self._colours.set_path(path)

    def choose(self, number: int, choice: Choice) -> None:
        """Fill a clash with this. It can be taken back with the editor's own undo."""
        self._choices[number] = choice
        text = self._chosen(number)
        spans = [(place.selectionStart(), place.selectionEnd()) for place in self._places]
        self._is_choosing = True
        self._places[number].insertText(text)
        self._is_choosing = False
        start, end = spans[number]
        length = utf16_length(text)
        # Set anew: a cursor without a selection is pushed along by what is inserted where it stands.
        for index, (first, last) in enumerate(spans):
            shift = length - (end - start) if index > number else 0
            self._places[index] = self._cursor(first + shift, last + shift)
        self._places[number] = self._cursor(start, start + length)
        self._edited.discard(number)
        self.decided.emit()

    def show_clash(self, number: int) -> None:
        """Mark this clash and scroll to it."""
        self._current = number
        place = QTextCursor(self._places[number])
        place.setPosition(place.selectionStart())
        self.setTextCursor(place)
        self.centerCursor()
        self.viewport().update()

    def content(self) -> bytes:
        """Return what is to be written, exactly: lines that were not edited keep every byte."""
        assert self._three is not None
        merged = tuple(chain.from_iterable(self._three.pieces(self._choices)))
        raw = self.document().toRawText().replace("\u2029", "\n").replace("\u2028", "\n")
        return encode_edited(merged, raw, self._three.yours.encoding)

    # -- its parts --

    def _cursor(self, start: int, end: int) -> QTextCursor:
        cursor = QTextCursor(self.document())
        cursor.setPosition(start)
        cursor.setPosition(end, _KEEP)
        return cursor

    def _text_at(self, number: int) -> str:
        return self._places[number].selectedText().replace("\u2029", "\n")

    def _chosen(self, number: int) -> str:
        assert self._three is not None
        clash = self._three.clashes[number]
        is_start = self._places[number].selectionStart() == 0
        return editor_text(self._three.chosen(clash, self._choices[number]), is_start=is_start)

    def _on_contents_changed(self, position: int, removed: int, added: int) -> None:
        if self._is_choosing or self._three is None:
            return
        for number, place in enumerate(self._places):
            if place.selectionStart() <= position + added and position <= place.selectionEnd():
                if self._text_at(number) == self._chosen(number):
                    self._edited.discard(number)
                else:
                    self._edited.add(number)
        self.decided.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.centerCursor()  # the first clash is shown before there is a size

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._colours.stop()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint what lies under the text of the clashes, then the text."""
        painter = QPainter(self.viewport())
        undecided = self.undecided
        for number, place in enumerate(self._places):
            is_open = number in undecided
            area = self._area(place)
            if area.intersects(QRectF(event.rect())):
                painter.fillRect(area, self._theme.colour("warning_bg" if is_open else "accent_weak"))
                if number == self._current:
                    area.setWidth(3)
                    painter.fillRect(area, self._theme.colour("warning_text" if is_open else "accent"))
        painter.end()
        super().paintEvent(event)

    def _area(self, place: QTextCursor) -> QRectF:
        """Where a clash is seen: all of its lines, or a thin line where it has none."""
        document, offset = self.document(), self.contentOffset()
        first = document.findBlock(place.selectionStart())
        top = self.blockBoundingGeometry(first).translated(offset).top()
        if not place.hasSelection():
            return QRectF(0, top - 1, self.viewport().width(), 2)
        last = document.findBlock(max(place.selectionStart(), place.selectionEnd() - 1))
        bottom = self.blockBoundingGeometry(last).translated(offset).bottom()
        return QRectF(0, top, self.viewport().width(), bottom - top)

    def _on_theme_changed(self) -> None:
        self.setFont(self._theme.code_font(self._theme.sizes.diff, grows=False))
        self.viewport().update()
