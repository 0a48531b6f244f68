"""Underlines what is misspelled in the field of a prompt."""

import re
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QKeyEvent

from desktop_agent.core.spelling import ProseWord, words_of
from desktop_agent.ui.chat.composer.message_edit import MessageEdit
from desktop_agent.ui.theme import Theme

_PAUSE_MS: Final = 200
"""From a key to the look at the words: none is underlined between its letters."""
_BEYOND: Final = re.compile("[\U00010000-\U0010ffff]")
_LONGEST: Final = 5_000
"""Characters. In a longer message nothing is underlined: it is read again after each pause, on the window's thread."""
_MOST: Final = 100
"""With more misspelled words the message is in a language without a dictionary, and nothing is underlined."""


class SpellingMarks(QObject):
    """Follows the words of a field once the user types in it. The word at the cursor is left alone until it is left.

    Signals:
        unknown_met: there are words (a frozenset of `str`) of which it is not known whether they are right; the owner
            passes them to `take`, with those that are not.
    """

    unknown_met = Signal(object)

    def __init__(self, edit: MessageEdit, theme: Theme) -> None:
        super().__init__(edit)
        self._edit = edit
        self._theme = theme
        self._is_on = False
        self._is_typed_in = False
        self._is_right: dict[str, bool] = {}
        """Of the words that were looked up."""
        self.misspelled: list[ProseWord] = []
        """The words that are underlined, in the order of the text. Positions are those of Qt."""
        self._timer = QTimer(self, interval=_PAUSE_MS, singleShot=True)
        self._timer.timeout.connect(self._look)
        edit.key_takers.append(self._note_key)
        edit.textChanged.connect(self._on_changed)
        edit.cursorPositionChanged.connect(self._on_changed)
        theme.changed.connect(self._look)

    def set_on(self, *, is_on: bool) -> None:
        """Underline words from now on, or none."""
        self._is_on = is_on
        self._look()

    def take(self, looked_up: frozenset[str], misspelled: frozenset[str]) -> None:
        """Take in which of the words that were looked up are wrong."""
        self._is_right |= {word: word not in misspelled for word in looked_up}
        self._look()

    def _note_key(self, event: QKeyEvent) -> bool:
        """Begin with the first letter that is typed: what the application puts there costs no dictionaries."""
        self._is_typed_in |= bool(event.text().strip())
        return False

    def _on_changed(self) -> None:
        if self._is_on and self._is_typed_in:
            self._timer.start()

    def _look(self) -> None:
        """Underline what is known to be wrong, and ask about the rest."""
        self._timer.stop()
        text = self._edit.toPlainText() if self._is_on and self._is_typed_in else ""
        words = list(words_of(_in_utf16(text))) if len(text) <= _LONGEST else []
        cursor = self._edit.textCursor()
        at = cursor.position() if self._edit.hasFocus() and not cursor.hasSelection() else -1
        misspelled = [word for word in words if word.end != at and not self._is_right.get(word.text, True)]
        self.misspelled = misspelled if len(misspelled) <= _MOST else []
        spans = [(word.start, word.end) for word in self.misspelled]
        self._edit.marks.underline(spans, self._theme.colour("danger_text"))
        if unknown := frozenset(word.text for word in words if word.end != at and word.text not in self._is_right):
            self.unknown_met.emit(unknown)

    def word_at(self, position: int) -> ProseWord | None:
        """Return the underlined word that a position of the text is in."""
        return next((word for word in self.misspelled if word.start <= position <= word.end), None)


def _in_utf16(text: str) -> str:
    """Return a text with the same words, each where Qt counts it: a character beyond U+FFFF is two there."""
    return _BEYOND.sub("\0\0", text)
