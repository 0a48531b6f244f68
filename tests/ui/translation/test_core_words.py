"""What the core says in English is said in the user's language where the window shows it."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QTranslator
from PySide6.QtWidgets import QApplication

from desktop_agent.core.base.paths import resource_path
from desktop_agent.ui.translation.core_words import core_words

TEXTS = [
    ("The key was refused.", "Der Schlüssel wurde abgelehnt."),
    ("There is no API key for Anthropic.", "Es gibt keinen API-Schlüssel für Anthropic."),
    ("Trying again in 4 s (try 2 of 5).", "Neuer Versuch in 4 s (Versuch 2 von 5)."),
    ("A rule of yours asks before this: `git push {0}`.", "Eine Ihrer Regeln fragt hiervor: `git push {0}`."),
    (
        "This needs the network. The sandbox does not let it, so it would run outside.",
        "Dies braucht das Netz. Die Sandbox lässt es nicht zu, es würde also außerhalb laufen.",
    ),
    ("Always allow edits", "Bearbeitungen immer erlauben"),
    ("What a server says of itself.", "What a server says of itself."),
    ("", ""),
]


@pytest.fixture
def _german(qapp: QApplication) -> Iterator[None]:
    translator = QTranslator()
    assert translator.load(str(resource_path("translations", "desktop_agent_de.qm")))
    qapp.installTranslator(translator)
    yield
    qapp.removeTranslator(translator)


@pytest.mark.usefixtures("_german")
@pytest.mark.parametrize(("text", "said"), TEXTS)
def test_a_text_is_recognised_with_its_values(text: str, said: str) -> None:
    assert core_words(text) == said


@pytest.mark.parametrize("text", [text for text, _ in TEXTS])
def test_in_english_it_stays_as_it_is(text: str) -> None:
    assert core_words(text) == text
