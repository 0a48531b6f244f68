"""The texts of a diff, and the decisions about its hunks."""

import stat
from functools import partial
from typing import Literal, NamedTuple

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.diff.hunks import WHOLE_FILE
from desktop_agent.core.diff.rows import DiffRow, DiffRows, Gap, LineSide
from desktop_agent.core.diff.text import without_ending
from desktop_agent.core.protocol.model import Author, Diagnostic, FileDiff, Hunk, LineComment, MovedBlock
from desktop_agent.ui.translation import core_words, plural
from desktop_agent.ui.wording import visible_line

_tr = partial(QCoreApplication.translate, "DiffView")

HunkChoice = Literal["keep", "undecide", "undo", "redo", "comment"]
HunkState = Literal["undecided", "kept", "undone"]


class HunkDecisions(NamedTuple):
    """The kept and the undone hunks. `obstacle` says why nothing can be undone or redone; empty if it can."""

    kept: frozenset[HunkKey] = frozenset()
    undone: frozenset[HunkKey] = frozenset()
    obstacle: str = ""
    is_own: bool = False
    """Whether the user made all of the file's changes, which are kept without being decided."""
    is_undone: bool = False
    """Whether no change of the file is in force."""
    is_offered: bool = False
    """Whether undone hunks are those of a worktree that were not brought back."""
    committed: frozenset[HunkKey] = frozenset()
    """The hunks that a commit of the session has; `WHOLE_FILE` stands for all."""
    is_git: bool = False
    """Whether the diff is git's, from which an undone hunk disappears."""

    def is_committed(self, key: HunkKey) -> bool:
        return key in self.committed or WHOLE_FILE in self.committed

    def label(self, rows: DiffRows, index: int) -> str:
        label, key = bar_label(rows, index), rows.key(index)
        return f"{label} · {_tr('committed')}" if key is not None and self.is_committed(key) else label

    def state(self, key: HunkKey) -> HunkState:
        if self.is_undone or key in self.undone:
            return "undone"
        return "kept" if self.is_own or key in self.kept else "undecided"

    def words(self, key: HunkKey) -> str:
        undone = _tr("not brought back") if self.is_offered else _tr("undone")
        return {"undecided": _tr("not decided"), "kept": _tr("kept"), "undone": undone}[self.state(key)]

    def is_open(self, key: HunkKey) -> bool:
        state = self.state(key)
        return state == "undecided" or (self.is_offered and state == "undone")


def hunk_label(hunk: Hunk) -> str:
    first, last = hunk.edits[0], hunk.edits[-1]
    if any(edit.new_start < edit.new_end for edit in hunk.edits):
        start, end = first.new_start + 1, last.new_end
        return _tr("line {0}").format(end) if end <= start else _tr("lines {0}–{1}").format(start, end)
    start, end = first.old_start + 1, last.old_end
    return _tr("line {0} removed").format(end) if end <= start else _tr("lines {0}–{1} removed").format(start, end)


def bar_label(rows: DiffRows, index: int) -> str:
    hunk, key = rows.hunk(index), rows.key(index)
    text = hunk_label(hunk) if hunk else _head_label(rows, index)
    authors = next((authors for named, authors in rows.diff.authors if named == key), ())
    words: dict[Author, str] = {
        "agent": _tr("agent"),
        "shell": _tr("shell"),
        "mcp": _tr("MCP server"),
        "person": _tr("you"),
        "undo": _tr("undo"),
        "unknown": _tr("a running server, or you"),
    }
    return " · ".join((text, *(words[author] for author in authors)))


def _head_label(rows: DiffRows, index: int) -> str:
    if note := rows.head_note(index):
        return notes_label((note,))
    match rows.key(index):
        case "endings":
            count = rows.converted_lines()
            return plural("DiffView", count, "Line ending of %n line", "Line endings of %n lines")
        case "mode":
            return _tr("Permissions")
        case _:
            return _tr("The whole file")


def problem_words(found: Diagnostic) -> str:
    words = {"error": _tr("Error: {0}"), "warning": _tr("Warning: {0}"), "info": _tr("Note: {0}")}
    return words[found.severity].format(found.message)


def problem_counts(errors: int, warnings: int) -> str:
    counts = (
        plural("DiffView", errors, "%n error", "%n errors") if errors else "",
        plural("DiffView", warnings, "%n warning", "%n warnings") if warnings else "",
    )
    return ", ".join(filter(None, counts))


def moved_label(block: MovedBlock, side: LineSide) -> str:
    if side == "old":
        return _tr("moved to line {0}").format(block.new_start + 1)
    return _tr("moved from line {0}").format(block.old_start + 1)


def comment_label(comment: LineComment) -> str:
    if comment.start == comment.end:
        return _tr("You, on this file")
    is_old = comment.side == "old"
    if comment.end - comment.start == 1:
        text = _tr("You, on old line {0}") if is_old else _tr("You, on line {0}")
        return text.format(comment.start + 1)
    text = _tr("You, on old lines {0}–{1}") if is_old else _tr("You, on lines {0}–{1}")
    return text.format(comment.start + 1, comment.end)


def gap_label(gap: Gap) -> str:
    if gap.converted == gap.size:
        return plural(
            "DiffView", gap.size, "Only the line ending of %n line changed", "Only the line endings of %n lines changed"
        )
    if gap.converted:
        one = "%n unchanged line, {0} with a different line ending"
        many = "%n unchanged lines, {0} with a different line ending"
        return plural("DiffView", gap.size, one, many).format(f"{gap.converted:,}")
    return plural("DiffView", gap.size, "%n unchanged line", "%n unchanged lines")


def notes_label(notes: tuple[str, ...]) -> str:
    text = " · ".join(map(core_words, notes))
    return text[:1].upper() + text[1:]


def ending_label(diff: FileDiff, row: DiffRow, side: LineSide) -> str:
    lines, number = (diff.old_lines, row.old) if side == "old" else (diff.new_lines, row.new)
    if number is None:
        return ""
    line = lines[number]
    if not line.endswith("\n"):
        return _tr("no newline at the end")
    old = row.peer if row.old is None else row.old
    new = row.peer if row.new is None else row.new
    if old is None or new is None or diff.old_lines[old] == diff.new_lines[new]:
        return ""
    if without_ending(diff.old_lines[old]) != without_ending(diff.new_lines[new]):
        return ""
    return "CRLF" if line.endswith("\r\n") else "LF"


def summary(diff: FileDiff) -> tuple[str, str]:
    if stat.S_ISDIR(diff.new_mode or diff.old_mode or 0):
        return _tr("Folder"), _tr("deleted") if diff.kind == "deleted" else _tr("created")
    if not diff.new_size and stat.S_ISFIFO(diff.new_mode or diff.old_mode or 0):
        heading = _tr("Named pipe")
    elif not diff.new_size and stat.S_ISSOCK(diff.new_mode or diff.old_mode or 0):
        heading = _tr("Socket")
    elif diff.is_binary:
        heading = _tr("Binary file")
    elif diff.old_size or diff.new_size:
        heading = _tr("Too large to show line by line")
    else:
        heading = _tr("Empty file")
    old, new = _size(diff.old_size), _size(diff.new_size)
    match diff.kind:
        case "created":
            return heading, _tr("created, {0}").format(new)
        case "deleted":
            return heading, _tr("deleted, was {0}").format(old)
        case "mode_changed":
            return heading, new
        case "modified" | "renamed":
            return heading, f"{old} → {new}"


def diff_name(diff: FileDiff) -> str:
    added = plural("ChangeListing", diff.added, "%n line added", "%n lines added")
    removed = plural("ChangeListing", diff.removed, "%n line removed", "%n lines removed")
    text = _tr("Changes in {0}: {1}, {2}").format(diff.path, added, removed)
    return ". ".join((text, *map(core_words, diff.notes)))


def row_words(rows: DiffRows, index: int, decisions: HunkDecisions | None = None) -> str:
    """Return the text about a row for screen readers."""
    if (key := rows.key(index)) is not None:
        text = _tr("Change {0} of {1}: {2}")
        label = decisions.label(rows, index) if decisions else bar_label(rows, index)
        text = text.format(rows.change_at(index) + 1, len(rows.changes), label)
        return f"{text}, {decisions.words(key)}" if decisions else text
    text = _line_words(rows, index)
    if decisions and rows[index].kind not in ("gap", "context"):
        key = rows.keys[rows.change_at(index)]
        if decisions.state(key) != "undecided":
            return f"{text} ({decisions.words(key)})"
    return text


def _line_words(rows: DiffRows, index: int) -> str:
    if gap := rows.gap(index):
        return _tr("{0}, folded. Press Enter to show them").format(gap_label(gap))
    row = rows[index]
    old = visible_line(without_ending(rows.diff.old_lines[row.old])).text if row.old is not None else ""
    new = visible_line(without_ending(rows.diff.new_lines[row.new])).text if row.new is not None else ""
    match row.kind:
        case "changed":
            text = _tr("Line {0}: {1}. Changed to line {2}: {3}")
            return text.format((row.old or 0) + 1, old, (row.new or 0) + 1, new)
        case "removed":
            return _tr("Line {0} removed: {1}").format((row.old or 0) + 1, old)
        case "added":
            return _tr("Line {0} added: {1}").format((row.new or 0) + 1, new)
        case "context" | "hunk" | "gap":
            return _tr("Line {0}: {1}").format((row.new or 0) + 1, new)


def _size(size_bytes: int) -> str:
    if size_bytes < 1_000:
        return plural("DiffView", size_bytes, "%n byte", "%n bytes")
    if size_bytes < 1_000_000:
        return f"{size_bytes / 1_000:.1f} kB"
    return f"{size_bytes / 1_000_000:.1f} MB"
