"""A pseudo-language: English with accents, in brackets, and two fifths longer.

A text without brackets is not translated; one without its closing bracket is cut.
"""

import re
import subprocess
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from translatable_texts import Message

_KEPT = re.compile(r"(\{\w*\}|%n|`[^`]*`|\(\*[^)]*\))")
_ACCENTS = str.maketrans("aceinouyACEINOUY", "áćéíñóúýÁĆÉÍÑÓÚÝ")
_FILLING = "õñê twö þreê fôur fîve sîx sevên "
_LONGER = 0.4


def pseudo(text: str) -> str:
    """Return `text` in the pseudo-language. Placeholders and commands stay unchanged."""
    parts = _KEPT.split(text)
    said = "".join(part if _KEPT.fullmatch(part) else part.translate(_ACCENTS) for part in parts)
    more = round(len(text) * _LONGER)
    filling = (_FILLING * (more // len(_FILLING) + 1))[:more].strip()
    blank = " " if text.startswith(" ") else ""
    return f"{blank}[{said.strip()}{filling and ' '}{filling}]"


def compile_pseudo(messages: Iterable[Message], folder: Path) -> Path:
    root = ElementTree.Element("TS", version="2.1", language="en")
    for message in messages:
        context = ElementTree.SubElement(root, "context")
        ElementTree.SubElement(context, "name").text = message.context
        entry = ElementTree.SubElement(context, "message", {"numerus": "yes"} if message.is_plural else {})
        ElementTree.SubElement(entry, "source").text = message.source
        said = ElementTree.SubElement(entry, "translation")
        for form in [ElementTree.SubElement(said, "numerusform") for _ in range(2)] if message.is_plural else [said]:
            form.text = pseudo(message.source)
    source, compiled = folder / "pseudo.ts", folder / "pseudo.qm"
    ElementTree.ElementTree(root).write(source, encoding="utf-8", xml_declaration=True)
    command = [Path(sysconfig.get_path("scripts")) / "pyside6-lrelease", source, "-silent", "-qm", compiled]
    subprocess.run(command, check=True)  # noqa: TID251 - no loop runs here
    return compiled
