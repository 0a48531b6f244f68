"""Loads the translation of the window, and that of Qt's own texts, before the first widget is made."""

from pathlib import Path

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from desktop_agent.core.base.paths import resource_path
from desktop_agent.ui.translation.languages import ENGLISH, SYSTEM, chosen_language, first_spoken


def install_language(app: QCoreApplication, settings_file: Path) -> str:
    """Install the translators for the language that the user or the system chose; return its name.

    Dates and numbers follow the language where the user chose another one than the system's. A translation that is
    missing or damaged leaves English.
    """
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
