"""What is underlined of a message, and what the window's thread is not kept with."""

import pytest
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from desktop_agent.core.spelling import words_of
from desktop_agent.ui.chat.composer.composer import Composer
from desktop_agent.ui.chat.composer.spelling_marks import SpellingMarks
from desktop_agent.ui.theme import Theme


@pytest.fixture
def composer(theme: Theme, qtbot: QtBot) -> Composer:
    composer = Composer(theme)
    qtbot.addWidget(composer)
    composer.show()
    return composer


def marked(composer: Composer, theme: Theme, text: str, wrong: frozenset[str]) -> SpellingMarks:
    """Type a text of which these words are wrong."""
    marks = SpellingMarks(composer.edit, theme)
    marks.set_on(is_on=True)
    composer.set_text(text)
    QTest.keyClicks(composer.edit, ".")
    marks.take(frozenset(word.text for word in words_of(text)), wrong)
    return marks


def test_each_misspelled_word_is_underlined(composer: Composer, theme: Theme) -> None:
    marks = marked(composer, theme, "right wrnog right wrnog", frozenset({"wrnog"}))
    assert [(word.text, word.start) for word in marks.misspelled] == [("wrnog", 6), ("wrnog", 18)]


def test_a_message_in_a_language_without_a_dictionary_is_not_underlined(composer: Composer, theme: Theme) -> None:
    marks = marked(composer, theme, "bonjour " * 101, frozenset({"bonjour"}))
    assert marks.misspelled == []
    assert composer.edit.extraSelections() == []


def test_a_message_of_many_pages_is_not_underlined(composer: Composer, theme: Theme) -> None:
    marks = marked(composer, theme, "right " * 1_000 + "wrnog", frozenset({"wrnog"}))
    assert marks.misspelled == []
