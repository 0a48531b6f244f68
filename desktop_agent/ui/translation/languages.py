"""Chooses the window's language and loads its translations before the first widget is made."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from desktop_agent.core.base.paths import resource_path

SYSTEM: Final = "system"
ENGLISH: Final = "en"
"""The language of the source: nothing is loaded for it."""

TRANSLATED: Final = {"de": "de", "zh-cn": "zh_CN"}
"""The languages with a file in `resources/translations`, by their names in the settings: as Qt names them."""

_TRADITIONAL: Final = {"hant", "tw", "hk", "mo"}


def chosen_language(settings_file: Path) -> str:
    """Return the language in the settings, or the system's. Parsing all settings would take as long as painting."""
    try:
        content = settings_file.read_bytes()
    except OSError:
        return SYSTEM
    if b"language" not in content:
        return SYSTEM
    try:
        chosen = tomllib.loads(content.decode()).get("ui", {}).get("language")
    except (ValueError, AttributeError):  # a broken file, or a `ui` that is no table
        return SYSTEM
    name = chosen.lower() if isinstance(chosen, str) else ""
    return ENGLISH if name == ENGLISH else TRANSLATED.get(name, SYSTEM)


def first_spoken(wanted: Sequence[str]) -> str:
    """Return the first available language of names like `zh-Hans-CN`. Readers of traditional Chinese get English."""
    for name in wanted:
        language, *parts = name.replace("_", "-").lower().split("-")
        if language == "zh":
            if _TRADITIONAL.isdisjoint(parts):
                return "zh_CN"
            return ENGLISH  # after a script comes `zh` without a script
        if language == ENGLISH or language in TRANSLATED:
            return language
    return ENGLISH


def install_language(app: QCoreApplication, settings_file: Path) -> str:
    """Return the language's name, which is English if a translation is missing or damaged."""
    chosen = chosen_language(settings_file)
    language = first_spoken(QLocale.system().uiLanguages()) if chosen == SYSTEM else chosen
    if chosen != SYSTEM and QLocale(chosen).language() != QLocale.system().language():
        QLocale.setDefault(QLocale(chosen))
    if language != ENGLISH:
        qt_folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
        _install(app, Path(qt_folder) / f"qtbase_{language}.qm")
        _install(app, resource_path("translations", f"desktop_agent_{language}.qm"))
    return language


def _install(app: QCoreApplication, file: Path) -> None:
    translator = QTranslator(app)
    if translator.load(str(file)):
        app.installTranslator(translator)
