"""The menu of the field of a prompt: other words for one that is misspelled, before what every field offers."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QTextCursor
from PySide6.QtWidgets import QMenu

from desktop_agent.core.spelling import ProseWord
from desktop_agent.ui.chat.composer.message_edit import MessageEdit
from desktop_agent.ui.chat.composer.spelling_marks import SpellingMarks
from desktop_agent.ui.wording.quoted_code import in_quotes


class SpellingMenu(QObject):
    """Opens for a right click and for the key of menus.

    Signals:
        suggestions_wanted: the user wants other words for this one; the owner passes them to `offer`.
        learned: this word is right from now on, says the user.
    """

    suggestions_wanted = Signal(str)
    learned = Signal(str)

    def __init__(self, edit: MessageEdit, marks: SpellingMarks) -> None:
        super().__init__(edit)
        self._edit = edit
        self._marks = marks
        self._asked: tuple[ProseWord, QPoint] | None = None
        """The word that others are wanted for, and where the menu goes."""
        edit.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        edit.customContextMenuRequested.connect(self._on_requested)

    def offer(self, word: str, suggestions: Sequence[str]) -> None:
        """Open the menu with these other words for one, if it is still wanted and the word still there."""
        if self._asked is None or self._asked[0].text != word:
            return
        (asked, at), self._asked = self._asked, None
        if self._marks.word_at(asked.start) != asked:
            return
        menu = self._edit.createStandardContextMenu()
        menu.insertActions(menu.actions()[0], self._actions(menu, asked, suggestions))
        self._open(menu, at)

    def _on_requested(self, at: QPoint) -> None:
        word = self._marks.word_at(self._edit.cursorForPosition(at).position())
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
            actions.append(QAction(self.tr("No other word is known"), menu))
            actions[-1].setEnabled(False)
        learn = QAction(self.tr("Add {word} to the dictionary").format(word=in_quotes(word.text)), menu)
        learn.triggered.connect(partial(self.learned.emit, word.text))
        separators = [QAction(menu), QAction(menu)]
        for separator in separators:
            separator.setSeparator(True)
        return [*actions, separators[0], learn, separators[1]]

    def _put(self, word: ProseWord, other: str) -> None:
        """Put another word in the place of one that is still there. Can be taken back with Undo."""
        cursor = QTextCursor(self._edit.document())
        cursor.setPosition(word.start)
        cursor.setPosition(word.end, QTextCursor.MoveMode.KeepAnchor)
        if cursor.selectedText() == word.text:
            cursor.insertText(other)
