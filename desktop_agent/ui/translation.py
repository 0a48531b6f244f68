"""The language of the window: chosen and loaded before the first widget is made; plurals; the core's English texts."""

import tomllib
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from desktop_agent.core.base.paths import resource_path
from desktop_agent.core.base.regex import regex

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
    except (ValueError, AttributeError):  # a broken file, or a `ui` that is not a table
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


_GROUP = "\N{NARROW NO-BREAK SPACE}"


def plural(context: str, count: int, one: str, many: str) -> str:
    """Translate `many` in the plural form for `count`, which replaces `%n`. `one` is its English singular."""
    said = QCoreApplication.translate(context, many, None, count)
    if count == 1 and said == many.replace("%n", "1"):
        said = one.replace("%n", "1")
    return said.replace(str(count), grouped(count), 1)


def grouped(number: int) -> str:
    """Write a number with its thousands apart."""
    return f"{number:,}".replace(",", _GROUP)


_CONTEXT: Final = "Core"
_KNOWN: Final = "Choose another model."
_VALUE = regex(r"\{\d\}")
_FENCE = regex(r"`{3,}")
_SENTENCE_END = regex(r"(`+)(?!`).*?(?<!`)\1(?!`)|(?<=[.?:;]) (?=[A-Z`])")
"""Code, in which no sentence ends, or the space between two sentences."""


class _Pattern(NamedTuple):
    source: str
    fixed: tuple[str, ...]

    def values(self, text: str) -> list[str] | None:
        """Return the values in `text` if it matches. A value ends where the next fixed text first occurs."""
        first, *between, last = self.fixed
        if not (text.startswith(first) and text.endswith(last)):
            return None
        found: list[str] = []
        place, end = len(first), len(text) - len(last)
        for part in between:
            if (next_ := text.find(part, place, end)) < 0:
                return None
            found.append(text[place:next_])
            place = next_ + len(part)
        return [*found, text[place:end]] if place <= end else None


def core_words(text: str) -> str:
    """Translate a text of the core. Unknown texts stay unchanged, as do values in a text that are not the core's."""
    return _said(text) if text and _is_translated() else text


class Hinting(Protocol):
    """What has happened, and what can be done about it: an error, or the state of a server of models."""

    @property
    def title(self) -> str: ...
    @property
    def hint(self) -> str: ...


def error_words(error: Hinting) -> str:
    return " ".join(filter(None, (core_words(error.title), core_words(error.hint))))


def answer_words(markdown: str) -> str:
    """Translate the known lines or sentences in the answer of a slash command, except code blocks."""
    return _answer(markdown, _translate(_KNOWN)) if markdown and _is_translated() else markdown


@lru_cache(maxsize=200)
def _answer(markdown: str, _language: str) -> str:
    lines: list[str] = []
    fence = ""
    for line in markdown.split("\n"):
        opened = _FENCE.match(line)
        if fence or opened:
            is_end = line == fence
            fence = "" if is_end else fence or (opened[0] if opened else "")
            lines.append(line)
        else:
            lines.append(_said_line(line))
    return "\n".join(lines)


def _said_line(line: str) -> str:
    text = line.lstrip(" -")
    start = line[: len(line) - len(text)]
    if text.startswith("`") and text.endswith("`") and text.count("`") == 2:  # texts with file names in them
        return f"{start}`{_said(text[1:-1])}`"
    if (said := _said(text, is_sentence=True)) != text:
        return start + said
    return start + " ".join(map(_said, _sentences(text)))


def _sentences(text: str) -> list[str]:
    ends = [found.start() for found in _SENTENCE_END.finditer(text) if found[0] == " "]
    return [text[at:end].strip() for at, end in zip([0, *ends], [*ends, len(text)], strict=True)]


def _said(text: str, *, is_sentence: bool = False) -> str:
    said = _translate(text)
    if said != text:
        return said
    for pattern in _patterns():
        values = pattern.values(text)
        if values is not None and not (is_sentence and any(len(_sentences(value)) > 1 for value in values)):
            return _translate(pattern.source).format(*map(_said, values))
    return text


def _translate(text: str) -> str:
    return QCoreApplication.translate(_CONTEXT, text)


def _is_translated() -> bool:
    return _translate(_KNOWN) != _KNOWN


@cache
def _patterns() -> tuple[_Pattern, ...]:
    """Return the texts with values. Those with the most fixed text come first, because they match most reliably."""
    lines = resource_path("translations", "core_texts.txt").read_text(encoding="utf-8").splitlines()
    return tuple(map(_pattern, sorted(lines, key=lambda line: -len(_VALUE.sub("", line)))))


def _pattern(line: str) -> _Pattern:
    source = line.replace("\\n", "\n")
    return _Pattern(source, tuple(_VALUE.split(source)))
