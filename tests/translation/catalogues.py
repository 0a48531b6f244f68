"""Reads the translations that are kept in the repository."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

from tests.translation.module_texts import Message

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "packaging" / "translations"
COMPILED = ROOT / "resources" / "translations"
PATTERNS = COMPILED / "core_texts.txt"
LANGUAGES = ("de", "zh_CN")


@dataclass(frozen=True, slots=True)
class Translated:
    """What is said for one message: one text, or one for each plural form."""

    forms: tuple[str, ...]
    is_finished: bool


@cache
def catalogue(language: str) -> Mapping[Message, Translated]:
    """Return all messages of a language's file."""
    tree = ElementTree.parse(SOURCES / f"desktop_agent_{language}.ts")
    found: dict[Message, Translated] = {}
    for context in tree.iter("context"):
        for message in context.iter("message"):
            source = Message(
                context.findtext("name", ""), message.findtext("source", ""), message.get("numerus") == "yes"
            )
            said = message.find("translation")
            assert said is not None
            forms = [form.text or "" for form in said.iter("numerusform")] if source.is_plural else [said.text or ""]
            found[source] = Translated(tuple(forms), said.get("type") is None and all(forms))
    return found
