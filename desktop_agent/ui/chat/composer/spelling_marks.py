"""Underlines words that no dictionary contains, and suggests replacements."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QMenu

from desktop_agent.core.base.regex import regex
from desktop_agent.core.spelling import ProseWord, words_of
from desktop_agent.ui.chat.composer.message_edit import MessageEdit
from desktop_agent.ui.runtime.pacing import one_shot
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.text_colours import cursor_over
from desktop_agent.ui.wording import in_quotes

_PAUSE_MS: Final = 200
_BEYOND: Final = regex("[\U00010000-\U0010ffff]")
_LONGEST: Final = 5_000
"""The longest message, in characters, that is checked: it is read after each pause, on the window's thread."""
_MOST: Final = 100
"""If more words are misspelled, none is underlined: the message is probably in a language without a dictionary."""


class SpellingMarks(QObject):
    """Suggests replacements in the field's menu. A word is not underlined until the cursor leaves it."""

    unknown_met = Signal(object)  # a frozenset of words; the owner looks them up and calls `take`
    suggestions_wanted = Signal(str)  # for this word; the owner passes them to `offer`
    learned = Signal(str)  # the user says that this word is right

    def __init__(self, edit: MessageEdit, theme: Theme) -> None:
        super().__init__(edit)
        self._edit = edit
        self._theme = theme
        self._is_on = False
        self._is_typed_in = False
        self._is_right: dict[str, bool] = {}
        self.misspelled: list[ProseWord] = []
        """The underlined words in the order of the text, with positions in UTF-16 units."""
        self._asked: tuple[ProseWord, QPoint] | None = None
        self._timer = one_shot(self, _PAUSE_MS, self._look)
        edit.key_takers.append(self._note_key)
        edit.textChanged.connect(self._on_changed)
        edit.cursorPositionChanged.connect(self._on_changed)
        theme.changed.connect(self._look)
        edit.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        edit.customContextMenuRequested.connect(self._on_requested)

    def set_on(self, *, is_on: bool) -> None:
        self._is_on = is_on
        self._look()

    def take(self, looked_up: frozenset[str], misspelled: frozenset[str]) -> None:
        self._is_right |= {word: word not in misspelled for word in looked_up}
        self._look()

    def _note_key(self, event: QKeyEvent) -> bool:
        """Begin to check at the first typed letter, so that text inserted by the application loads no dictionaries."""
        self._is_typed_in |= bool(event.text().strip())
        return False

    def _on_changed(self) -> None:
        if self._is_on and self._is_typed_in:
            self._timer.start()

    def _look(self) -> None:
        self._timer.stop()
        text = self._edit.toPlainText() if self._is_on and self._is_typed_in else ""
        like_qt = _BEYOND.sub("\0\0", text)  # counts a character beyond U+FFFF twice, so that positions match Qt's
        words = list(words_of(like_qt)) if len(text) <= _LONGEST else []
        cursor = self._edit.textCursor()
        at = cursor.position() if self._edit.hasFocus() and not cursor.hasSelection() else -1
        misspelled = [word for word in words if word.end != at and not self._is_right.get(word.text, True)]
        self.misspelled = misspelled if len(misspelled) <= _MOST else []
        spans = [(word.start, word.end) for word in self.misspelled]
        self._edit.marks.underline(spans, self._theme.colour("danger_text"))
        if unknown := frozenset(word.text for word in words if word.end != at and word.text not in self._is_right):
            self.unknown_met.emit(unknown)

    def _word_at(self, position: int) -> ProseWord | None:
        return next((word for word in self.misspelled if word.start <= position <= word.end), None)

    def offer(self, word: str, suggestions: Sequence[str]) -> None:
        if self._asked is None or self._asked[0].text != word:
            return
        (asked, at), self._asked = self._asked, None
        if self._word_at(asked.start) != asked:
            return
        menu = self._edit.createStandardContextMenu()
        menu.insertActions(menu.actions()[0], self._actions(menu, asked, suggestions))
        self._open(menu, at)

    def _on_requested(self, at: QPoint) -> None:
        word = self._word_at(self._edit.cursorForPosition(at).position())
        if word is None:
            self._asked = None
            self._open(self._edit.createStandardContextMenu(), at)
        else:
            self._asked = word, at
            self.suggestions_wanted.emit(word.text)

    def _open(self, menu: QMenu, at: QPoint) -> None:
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self._edit.viewport().mapToGlobal(at))

    def _actions(self, menu: QMenu, word: ProseWord, suggestions: Sequence[str]) -> list[QAction]:
        actions: list[QAction] = []
        for suggestion in suggestions:
            actions.append(QAction(suggestion, menu))
            actions[-1].triggered.connect(partial(self._put, word, suggestion))
        if not suggestions:
            actions.append(QAction(self.tr("No suggestions"), menu))
            actions[-1].setEnabled(False)
        learn = QAction(self.tr("Add {word} to the dictionary").format(word=in_quotes(word.text)), menu)
        learn.triggered.connect(partial(self.learned.emit, word.text))
        separators = [QAction(menu), QAction(menu)]
        for separator in separators:
            separator.setSeparator(True)
        return [*actions, separators[0], learn, separators[1]]

    def _put(self, word: ProseWord, other: str) -> None:
        cursor = cursor_over(self._edit.document(), word.start, word.end)
        if cursor.selectedText() == word.text:
            cursor.insertText(other)
