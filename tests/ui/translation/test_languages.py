"""The window's language is the user's or the system's if available, else English."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QLocale, QObject, QTranslator
from PySide6.QtWidgets import QApplication, QDialogButtonBox

from desktop_agent.ui.translation import chosen_language, first_spoken, install_language, plural


@pytest.mark.parametrize(
    ("wanted", "spoken"),
    [
        (["de-Latn-AT", "de-AT", "de"], "de"),
        (["en-US", "en", "de"], "en"),  # German is only the second choice
        (["fr-FR", "fr", "de-DE"], "de"),
        (["zh-Hans-CN", "zh-CN", "zh"], "zh_CN"),
        (["zh"], "zh_CN"),
        (["zh-Hant-TW", "zh-TW", "zh-Hant", "zh"], "en"),
        (["C"], "en"),
        (["fr"], "en"),
        ([], "en"),
    ],
)
def test_the_first_language_of_the_system_that_is_there(wanted: list[str], spoken: str) -> None:
    assert first_spoken(wanted) == spoken


@pytest.mark.parametrize(
    ("content", "chosen"),
    [
        ('[ui]\nlanguage = "de"\n', "de"),
        ('[ui]\nlanguage = "en"\n', "en"),
        ('[ui]\nlanguage = "ZH-CN"\n', "zh_CN"),
        ('[ui]\nlanguage = "system"\n', "system"),
        ('[ui]\nlanguage = "klingon"\n', "system"),
        ("[ui]\nlanguage = 3\n", "system"),
        ('[ui]\ntheme = "dark"\n', "system"),
        ('ui = "language"\n', "system"),
        ('[ui\nlanguage = "de"\n', "system"),
        ("", "system"),
    ],
)
def test_the_choice_in_the_settings(tmp_path: Path, content: str, chosen: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(content)
    assert chosen_language(file) == chosen


def test_without_settings_the_system_chooses(tmp_path: Path) -> None:
    assert chosen_language(tmp_path / "none.toml") == "system"


@pytest.fixture
def _english_again(qapp: QApplication) -> Iterator[None]:
    before = QLocale()
    yield
    for translator in qapp.findChildren(QTranslator):
        qapp.removeTranslator(translator)
        translator.deleteLater()
    QLocale.setDefault(before)


class Composer(QObject):
    pass


class _MoreThanComposer(Composer):
    pass


@pytest.mark.usefixtures("_english_again")
def test_german_is_spoken_with_its_plurals_and_by_qt_itself(tmp_path: Path, qapp: QApplication) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[ui]\nlanguage = "de"\n')
    assert install_language(qapp, file) == "de"
    assert QCoreApplication.translate("MainMenu", "Changes") == "Änderungen"
    assert [plural("UndoBar", count, "%n file", "%n files") for count in (0, 1, 2)] == [
        "0 Dateien",
        "1 Datei",
        "2 Dateien",
    ]
    assert _MoreThanComposer().tr("Mention files…") == "Dateien erwähnen …", "a text of the class that it inherits from"
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
    assert buttons.button(QDialogButtonBox.StandardButton.Cancel).text() == "Abbrechen"
    assert QLocale().decimalPoint() == ","


@pytest.mark.usefixtures("_english_again")
def test_english_loads_nothing(tmp_path: Path, qapp: QApplication) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[ui]\nlanguage = "en"\n')
    assert install_language(qapp, file) == "en"
    assert qapp.findChildren(QTranslator) == []
