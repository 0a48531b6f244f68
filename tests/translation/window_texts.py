"""All texts of the window, from its source code and from what the core declares."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import desktop_agent
from desktop_agent.core.mcp.status import STATE_WORDS
from desktop_agent.core.models.vendors import PROVIDER_LABELS
from desktop_agent.core.settings import declared_section, declared_settings
from tests.translation.core_texts import core_texts
from tests.translation.module_texts import Found, Message, ModuleTexts, declared, texts_in, translating_functions

PACKAGE = Path(desktop_agent.__file__).parent

_TABLES = (
    ("ui/window/actions.py", "_DECLARATIONS", 1, "Actions"),
    ("ui/wording/place_keys.py", "PLACE_KEYS", 2, "Palette"),
)
"""Texts that stand in calls: module, constant, place among the arguments, context."""

_ASKS_QT = re.compile(r"QCoreApplication\.translate\(|\bplural\(")

_MODES = ("_POLICIES", "_MODES")
"""The tables of `ui/wording/mode_words.py`, whose values are asked for by place."""


@cache
def modules() -> dict[str, ast.Module]:
    """Return the modules of the window that translate something, by their paths below the package."""
    files = (file for part in ("ui", "app") for file in sorted((PACKAGE / part).rglob("*.py")))
    sources = {file.relative_to(PACKAGE).as_posix(): file.read_text(encoding="utf-8") for file in files}
    trees = {path: ast.parse(source) for path, source in sources.items() if _ASKS_QT.search(source)}
    functions = {name for tree in trees.values() for name in translating_functions(tree)}
    calls = re.compile(rf"\b(?:{'|'.join(functions)})\(|\.tr\(|TRANSLATE_NOOP")  # what else there is, is not parsed
    others = {path: ast.parse(source) for path, source in sources.items() if path not in trees and calls.search(source)}
    return trees | others


@cache
def found() -> dict[str, Found]:
    """Return what was found in each module."""
    own = {path: translating_functions(tree) for path, tree in modules().items()}
    functions = {
        f"desktop_agent.{path.removesuffix('.py').replace('/', '.')}.{name}": context
        for path, names in own.items()
        for name, context in names.items()
    }
    return {path: ModuleTexts(tree, functions, own[path]).find() for path, tree in modules().items()}


def window_texts() -> Iterator[Message]:
    """Yield every text that can be shown in the user's language; some more than once."""
    for each in found().values():
        yield from each.messages
    for path, table, position, context in _TABLES:
        for text in declared(modules()[path], table, position):
            yield Message(context, text)
    for table in _MODES:
        for text in texts_in(modules()["ui/wording/mode_words.py"], table):
            yield Message("Modes", text)
    for text in STATE_WORDS.values():
        yield Message("ServerWords", text)
    for text in core_texts():
        yield Message("Core", text)
    for text in _settings():
        yield Message("Settings", text)


def _settings() -> Iterator[str]:
    for setting in declared_settings().values():
        about, section = setting.about, declared_section(setting.section)
        title = about.title if about.holds != "keys" else ""  # an action, which is translated as that
        texts = (title, about.text, about.unit, about.unset, section.title, section.text)
        yield from filter(None, texts)
        yield from about.words.values()
        yield from (choice for choice in setting.choices if choice not in about.words)
    yield from PROVIDER_LABELS.values()
