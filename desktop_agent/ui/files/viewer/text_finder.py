"""Finding in the file that is shown: all places are marked, and one is gone to."""

import asyncio
from bisect import bisect_left
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit
from shiboken6 import isValid

from desktop_agent.ui.files.viewer.finding import TextPlace, find_places
from desktop_agent.ui.review.diff_source import Spawn
from desktop_agent.ui.theme import Theme

_TYPING_MS = 60
_REST_MS = 250
"""After the last letter that was typed into the file: its places are looked for anew."""
_MOST_MARKED = 160
"""So many places around the current one are marked: the others are not in sight."""


class TextFinder(QObject):
    """Searches the text of an editor in a thread; `text` returns it.

    Signals:
        found: another match is the current one: its number, from 1 (0: none), and how many there are.
    """

    found = Signal(int, int)

    def __init__(self, theme: Theme, editor: QPlainTextEdit, text: Callable[[], str], spawn: Spawn) -> None:
        super().__init__(editor)
        self._theme = theme
        self._editor = editor
        self._text = text
        self._spawn = spawn
        self._wanted = ""
        self._places: tuple[TextPlace, ...] = ()
        self._current = -1
        self._asked = 0
        self._is_edited = False
        """Whether the places are looked for anew because the text changed: the user did not ask to go anywhere."""
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._begin)
        editor.document().contentsChange.connect(self._on_contents_changed)
        self._marking = QTimer(self, interval=0, singleShot=True)
        """Marks once for all that one step of the search does."""
        self._marking.timeout.connect(self._mark)
        editor.verticalScrollBar().valueChanged.connect(self._mark_soon)
        theme.changed.connect(self._mark_soon)

    @property
    def has_unread(self) -> bool:
        """False: all of the file is searched."""
        return False

    def find(self, text: str) -> None:
        """Mark every place of `text`, in any case, and go to the first from where the user is."""
        self._wanted = text
        self._is_edited = False
        if text:
            self._timer.start(_TYPING_MS)
        else:
            self._timer.stop()
            self._asked += 1
            self._show((), -1)

    def step(self, by: int) -> None:
        """Go on by so many places, round the end."""
        if self._places:
            self._go_to((max(self._current, 0) + by) % len(self._places) if self._current >= 0 else 0)

    def _on_contents_changed(self) -> None:
        if self._wanted and not self._timer.isActive():
            self._is_edited = True
            self._timer.start(_REST_MS)

    def _begin(self) -> None:
        self._asked += 1
        self._spawn(self._search(self._wanted, self._asked))

    async def _search(self, wanted: str, asked: int) -> None:
        places = await asyncio.to_thread(find_places, self._text(), wanted)
        if not isValid(self) or asked != self._asked:
            return
        at = self._editor.textCursor().selectionStart()
        first = bisect_left(places, at, key=lambda place: place.start)
        if not places or self._is_edited:
            self._show(places, -1)
        else:
            self._places = places
            self._go_to(first % len(places))

    def _go_to(self, number: int) -> None:
        place = self._places[number]
        cursor = QTextCursor(self._editor.document())
        end = self._editor.document().characterCount() - 1
        cursor.setPosition(min(place.start, end))
        cursor.setPosition(min(place.end, end), QTextCursor.MoveMode.KeepAnchor)
        self._editor.setTextCursor(cursor)
        rect = self._editor.cursorRect()
        if not self._editor.viewport().rect().adjusted(0, 40, 0, -40).contains(rect.center()):
            self._editor.centerCursor()
        self._show(self._places, number)

    def _show(self, places: tuple[TextPlace, ...], current: int) -> None:
        self._places, self._current = places, current
        self._marking.start()
        self.found.emit(current + 1, len(places))

    def _mark_soon(self) -> None:
        if self._places:
            self._marking.start()

    def _mark(self) -> None:
        """Mark the places that are in sight, or nearly."""
        marked = QTextCharFormat()
        marked.setBackground(self._theme.colour("warning_bg"))
        top = self._editor.cursorForPosition(self._editor.viewport().rect().topLeft()).position()
        first = max(0, bisect_left(self._places, top, key=lambda place: place.start) - _MOST_MARKED // 4)
        end = self._editor.document().characterCount() - 1
        marks: list[QTextEdit.ExtraSelection] = []
        for place in self._places[first : first + _MOST_MARKED]:
            if place.end <= end:
                mark = QTextEdit.ExtraSelection()
                mark.cursor = QTextCursor(self._editor.document())
                mark.cursor.setPosition(place.start)
                mark.cursor.setPosition(place.end, QTextCursor.MoveMode.KeepAnchor)
                mark.format = marked
                marks.append(mark)
        self._editor.setExtraSelections(marks)
