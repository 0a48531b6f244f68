"""The first lines of a diff, ready to draw. Pure, and made off the window's thread: comparing words takes time."""

from typing import Literal, NamedTuple

from desktop_agent.core.diff.intraline import changed_words
from desktop_agent.core.diff.rows import DiffRow, DiffRows
from desktop_agent.core.diff.text import without_ending
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.chat.cards.content import SHOWN_LINES, one_line

_AROUND = 2
"""Unchanged lines before the first and after the last change: enough to see where it is."""
_MAX_LINE = 300

Tone = Literal["", "added", "removed", "gap"]


class DiffLine(NamedTuple):
    """One line: its number where it stands now, or stood; what it says; and which parts of it changed."""

    tone: Tone
    number: int
    text: str
    words: tuple[tuple[int, int], ...] = ()
    """Half-open ranges of characters."""


class DiffExcerpt(NamedTuple):
    """The beginning of a diff."""

    lines: tuple[DiffLine, ...] = ()
    hidden: int = 0
    """How many changed lines are not among them."""
    note: str = ""
    """What is said instead of, or besides, lines."""


def excerpt_of(diff: FileDiff) -> DiffExcerpt:
    """Return the first lines of `diff` that changed, with some around them."""
    rows = DiffRows(diff, "unified")
    lines: list[DiffLine] = []
    leading: list[DiffLine] = []
    is_gap = False
    for index in range(len(rows)):
        row = rows[index]
        if row.kind in ("hunk", "gap"):
            is_gap = bool(lines)
            leading.clear()
            continue
        if len(lines) >= SHOWN_LINES:
            break
        line = _line(diff, row)
        if not lines and not line.tone:
            leading = [*leading, line][-_AROUND:]
            continue
        if is_gap:
            lines.append(DiffLine("gap", 0, "⋯"))
            is_gap = False
        lines += [*leading, line]
        leading.clear()
    del lines[SHOWN_LINES:]
    while lines and not _ends_well(lines):
        lines.pop()
    shown = sum(line.tone in ("added", "removed") for line in lines)
    return DiffExcerpt(tuple(lines), diff.added + diff.removed - shown, _note(diff))


def _ends_well(lines: list[DiffLine]) -> bool:
    """Whether the last line is a changed one, or an unchanged one that says something near a changed one."""
    is_near = any(line.tone in ("added", "removed") for line in lines[-_AROUND - 1 :])
    return lines[-1].tone in ("added", "removed") or (lines[-1].tone == "" and is_near and bool(lines[-1].text.strip()))


def _line(diff: FileDiff, row: DiffRow) -> DiffLine:
    match row.kind:
        case "removed":
            tone, number, lines, others = "removed", row.old, diff.old_lines, diff.new_lines
        case "added":
            tone, number, lines, others = "added", row.new, diff.new_lines, diff.old_lines
        case _:
            tone, number, lines, others = "", row.new, diff.new_lines, ()
    assert number is not None
    text = _shown(lines[number])
    if not tone or row.peer is None:
        return DiffLine(tone, number + 1, text)
    other = _shown(others[row.peer])
    words = changed_words(text, other).old
    return DiffLine(tone, number + 1, text, words)


def _shown(line: str) -> str:
    return one_line(without_ending(line), _MAX_LINE)


def _note(diff: FileDiff) -> str:
    if diff.is_binary:
        return "; ".join(("Binary file", *diff.notes))
    return "; ".join(diff.notes)
