"""What a diff says in words: on its bars, beside its lines, and to whoever cannot see it."""

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.changes.hunks import Hunk
from desktop_agent.core.changes.rows import Gap, LineSide, Row, Rows
from desktop_agent.core.changes.text import without_ending
from desktop_agent.core.model import FileDiff
from desktop_agent.ui.visible_text import visible_line


def hunk_label(hunk: Hunk) -> str:
    """Return which lines changed: in the new file, or in the old one when they are gone."""
    first, last = hunk.edits[0], hunk.edits[-1]
    if any(edit.new_start < edit.new_end for edit in hunk.edits):
        start, end = first.new_start + 1, last.new_end
        return _tr("line {0}").format(end) if end <= start else _tr("lines {0}–{1}").format(start, end)
    start, end = first.old_start + 1, last.old_end
    return _tr("line {0} removed").format(end) if end <= start else _tr("lines {0}–{1} removed").format(start, end)


def gap_label(gap: Gap) -> str:
    """Return what is folded away."""
    if gap.converted == gap.size:
        return _tr("{0} lines, only their ending changed").format(f"{gap.size:,}")
    if gap.converted:
        text = _tr("{0} unchanged lines, {1} of them with another ending")
        return text.format(f"{gap.size:,}", f"{gap.converted:,}")
    return _tr("{0} unchanged lines").format(f"{gap.size:,}")


def notes_label(notes: tuple[str, ...]) -> str:
    """Return the notes in one line."""
    text = " · ".join(notes)
    return text[:1].upper() + text[1:]


def show_label() -> str:
    """Return the word that unfolds a gap."""
    return _tr("Show")


def ending_label(diff: FileDiff, row: Row, side: LineSide) -> str:
    """Return what to say about the end of a line: its ending when that changed, or that it has none."""
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
    return _ending(line)


def summary(diff: FileDiff) -> tuple[str, str]:
    """Return what there is to say of a file without lines: a heading and a line."""
    if diff.is_binary:
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
    """Return what the diff is of and how big it is, in a sentence."""
    text = _tr("Changes in {0}: {1} lines added, {2} removed").format(diff.path, diff.added, diff.removed)
    return ". ".join((text, *diff.notes))


def row_words(rows: Rows, index: int) -> str:
    """Return what a row shows, as it would be read out."""
    if hunk := rows.hunk(index):
        return _tr("Change {0} of {1}: {2}").format(rows.changes.index(index) + 1, len(rows.changes), hunk_label(hunk))
    if gap := rows.gap(index):
        return _tr("{0}, folded. Press Enter to show them").format(gap_label(gap))
    row = rows[index]
    old = visible_line(without_ending(rows.diff.old_lines[row.old])).text if row.old is not None else ""
    new = visible_line(without_ending(rows.diff.new_lines[row.new])).text if row.new is not None else ""
    match row.kind:
        case "changed":
            text = _tr("Line {0} was {1}, now line {2}: {3}")
            return text.format((row.old or 0) + 1, old, (row.new or 0) + 1, new)
        case "removed":
            return _tr("Line {0} removed: {1}").format((row.old or 0) + 1, old)
        case "added":
            return _tr("Line {0} added: {1}").format((row.new or 0) + 1, new)
        case "context" | "hunk" | "gap":
            return _tr("Line {0}: {1}").format((row.new or 0) + 1, new)


def _ending(line: str) -> str:
    return "CRLF" if line.endswith("\r\n") else "LF"


def _size(size_bytes: int) -> str:
    if size_bytes < 1_000:
        return _tr("{0} bytes").format(size_bytes)
    if size_bytes < 1_000_000:
        return f"{size_bytes / 1_000:.1f} kB"
    return f"{size_bytes / 1_000_000:.1f} MB"


def _tr(text: str) -> str:
    return QCoreApplication.translate("DiffView", text)
