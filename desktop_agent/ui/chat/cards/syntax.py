"""Colours of code in the lines of a diff: the old lines and the new ones are read as two pieces of source."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from desktop_agent.ui.chat.cards.excerpt import DiffLine
from desktop_agent.ui.chat.syntax_colours import Lexer, colour_code
from desktop_agent.ui.chat.text.styles import TextMark, Tint
from desktop_agent.ui.wording.visible_text import utf16_length

_LANGUAGES = frozenset(
    {
        *("c", "cpp", "cs", "css", "go", "html", "java", "js", "json", "jsx", "lua", "php", "py", "rb", "rs", "scss"),
        *("sh", "sql", "swift", "toml", "ts", "tsx", "xml", "yaml"),
    }
)
"""The suffixes by which Pygments, too, knows a language."""

_OTHER_SUFFIXES = {"cc": "cpp", "h": "c", "hpp": "cpp", "kt": "kotlin", "pyi": "py", "yml": "yaml"}


def language_of(path: str) -> str:
    """Return the language of a file by its name, or nothing."""
    suffix = PurePosixPath(path).suffix[1:].lower()
    return suffix if suffix in _LANGUAGES else _OTHER_SUFFIXES.get(suffix, "")


def line_colours(lexer: Lexer, lines: Sequence[DiffLine]) -> tuple[tuple[TextMark, ...], ...]:
    """Return the colours of each line."""
    found: list[list[TextMark]] = [[] for _ in lines]
    for tones in (("", "removed"), ("", "added")):
        numbers = [number for number, line in enumerate(lines) if line.tone in tones]
        ends: list[int] = []
        at = 0
        for number in numbers:
            at += utf16_length(lines[number].text) + 1
            ends.append(at)
        code = "\n".join(lines[number].text for number in numbers)
        place = 0
        for start, length, role in colour_code(lexer, "", code):
            while place < len(ends) - 1 and start >= ends[place]:
                place += 1
            number = numbers[place]
            if lines[number].tone or tones[1] == "added":  # lines of both are coloured once
                begin = ends[place - 1] if place else 0
                room = utf16_length(lines[number].text) - (start - begin)
                if room > 0:
                    found[number].append(TextMark(start - begin, min(length, room), Tint(f"syntax_{role}")))
    return tuple(map(tuple, found))
