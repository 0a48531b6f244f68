"""Reads what a docstring says of each argument: in the style of Google, NumPy or Sphinx. Pure.

Args:                       Parameters                  :param city: Its name.
    city: Its name.         ----------
                            city : str
                                Its name.
"""

import re
from collections.abc import Collection, Sequence

from msgspec import Struct

_GOOGLE_HEADERS = frozenset({"Args:", "Arguments:", "Parameters:"})
_GOOGLE_ENTRY = re.compile(r"(?P<name>\w+)[ \t]*(?:\([^)]*\))?:[ \t]*(?P<text>.*)")
_NUMPY_ENTRY = re.compile(r"(?P<name>\w+)[ \t]*(?P<text>)(?::.*)?$")
_SPHINX_ENTRY = re.compile(r":param[ \t]+(?:[^:]*[ \t])?(?P<name>\w+):[ \t]*(?P<text>.*)")
_RULE = re.compile(r"-{3,}$")


class Documented(Struct, frozen=True):
    """A docstring, taken apart."""

    description: str
    """Without what is said of the arguments."""
    arguments: dict[str, str]
    """What is said of each, on one line."""


def taken_apart(docstring: str, names: Collection[str]) -> Documented:
    """Return what a docstring, cleaned as `inspect.getdoc` does it, says of a function with arguments of these names.

    What it says of other names, as of a group of arguments that is not one, stays in the description.
    """
    lines = docstring.splitlines()
    kept: list[str] = []
    found: dict[str, str] = {}
    place = 0
    while place < len(lines):
        entries, end = _section_at(lines, place)
        if entries and entries.keys() <= set(names):
            found |= entries
        else:
            end = max(end, place + 1)
            kept += lines[place:end]
        place = end
    return Documented(re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), found)


def _section_at(lines: Sequence[str], place: int) -> tuple[dict[str, str], int]:
    """Return the arguments of the section that begins here, and where it ends; none where no section begins."""
    line = lines[place]
    if line.strip() in _GOOGLE_HEADERS:
        end = _indented(lines, place + 1, _indent(line))
        return _entries(lines[place + 1 : end], _GOOGLE_ENTRY), end
    if line.strip() == "Parameters" and place + 1 < len(lines) and _RULE.match(lines[place + 1].strip()):
        end = next((at - 1 for at in range(place + 3, len(lines)) if _RULE.match(lines[at].strip())), len(lines))
        return _entries(lines[place + 2 : end], _NUMPY_ENTRY), end
    if _SPHINX_ENTRY.match(line.strip()):
        end = _indented(lines, place + 1, _indent(line))
        return _entries(lines[place:end], _SPHINX_ENTRY), end
    return {}, place


def _entries(lines: Sequence[str], entry: re.Pattern[str]) -> dict[str, str]:
    """Return the entries of a section, each from a line with the least indentation to the next."""
    least = min((_indent(line) for line in lines if line.strip()), default=0)
    found: dict[str, list[str]] = {}
    texts: list[str] = []
    for line in lines:
        if line.strip() and _indent(line) == least:
            match = entry.match(line.strip())
            if match is None:
                return {}
            texts = found[match["name"]] = [match["text"]]
        else:
            texts.append(line)
    return {name: " ".join(" ".join(texts).split()) for name, texts in found.items()}


def _indented(lines: Sequence[str], place: int, indent: int) -> int:
    """Return where the lines end that stand deeper than `indent`."""
    while place < len(lines) and (not lines[place].strip() or _indent(lines[place]) > indent):
        place += 1
    return place


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
