"""Hunks, edits that stand close together: those that people decide about have a name, made of what they say.

The same grouping is drawn, counted, kept and undone. A key survives a restart and lines that moved; when the hunk's own
lines change, it is another hunk, and undecided again.
"""

import hashlib
import stat
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.diff.diff import is_only_endings
from desktop_agent.core.protocol.model import Edit, FileDiff, Hunk, ReviewHunk, Surplus

CONTEXT_LINES = 3
MIN_FOLDED_LINES = 4
"""Fewer unchanged lines than this are shown: a row that says they are hidden takes nearly as much room."""

WHOLE_FILE: HunkKey = "file"
"""Names all of a file that has no lines to show: binary, symlink, folder, too large, empty."""
MODE: HunkKey = "mode"
ENDINGS: HunkKey = "endings"
"""Names all lines of a file whose ending changed and nothing else."""
RENAMING: HunkKey = "renaming"
"""Names, of a change that renamed a file and edited it, the renaming: it can be undone while the edit stands."""


def group(edits: Sequence[Edit], *, old_count: int, context: int, keep: int = 0) -> list[Hunk]:
    """Return the hunks of `edits`, each with up to `context` lines around it.

    Hunks whose contexts touch are one; so are those with no more than `keep` lines between them, where a gap would
    cost more room than what it hides. Between two edits, and before and behind them, old and new lines must run in
    parallel, one to one.
    """
    hunks: list[Hunk] = []
    near: list[Edit] = []
    for edit in edits:
        if near and edit.old_start - near[-1].old_end > 2 * context + keep:
            hunks.append(_hunk(near, old_count, context))
            near = []
        near.append(edit)
    if near:
        hunks.append(_hunk(near, old_count, context))
    return hunks


def review_hunks(diff: FileDiff) -> list[ReviewHunk]:
    """Return the hunks with lines, in order. Two that say the same differ by their number."""
    if diff.landmarks is not None:
        return list(diff.landmarks.hunks)
    if changes_kind(diff):
        hunk = group(diff.edits, old_count=len(diff.old_lines), context=CONTEXT_LINES, keep=len(diff.old_lines))
        return [ReviewHunk(WHOLE_FILE, one) for one in hunk]
    edits = [edit for edit in diff.edits if not is_only_endings(diff, edit)]
    hunks = group(edits, old_count=len(diff.old_lines), context=CONTEXT_LINES, keep=MIN_FOLDED_LINES - 1)
    seen: Counter[str] = Counter()
    named: list[ReviewHunk] = []
    for hunk in hunks:
        text = _text_key(diff, hunk)
        seen[text] += 1
        named.append(ReviewHunk(text if seen[text] == 1 else f"{text}-{seen[text]}", hunk))
    return named


def surplus_of(hunks: Iterable[ReviewHunk]) -> Surplus:
    """Return where rows are to be found among these hunks without going over all their edits."""
    edits = [edit for named in hunks for edit in named.hunk.edits]
    removed = [edit.old_end - edit.old_start for edit in edits]
    added = [edit.new_end - edit.new_start for edit in edits]
    taller = (max(0, new - old) for old, new in zip(removed, added, strict=True))
    return Surplus(array("Q", accumulate(taller, initial=0)), array("Q", accumulate(added, initial=0)))


def converted_edits(diff: FileDiff) -> list[Edit]:
    """Return the edits that change nothing but line endings: together they are the hunk `ENDINGS`."""
    if diff.landmarks is not None:
        return list(diff.landmarks.converted)
    return [edit for edit in diff.edits if is_only_endings(diff, edit)]


def edits_by_key(diff: FileDiff) -> dict[HunkKey, Sequence[Edit]]:
    """Return the edits of everything that has lines, by its name."""
    converted = converted_edits(diff)
    found: dict[HunkKey, Sequence[Edit]] = {named.key: named.hunk.edits for named in review_hunks(diff)}
    return found | {ENDINGS: converted} if converted else found


def all_keys(diff: FileDiff) -> tuple[HunkKey, ...]:
    """Return the names of everything there is to decide about in this diff."""
    if changes_kind(diff):
        return (WHOLE_FILE,)
    keys = [named.key for named in review_hunks(diff)]
    if converted_edits(diff):
        keys.append(ENDINGS)
    if diff.old_mode is not None and diff.new_mode is not None and diff.old_mode != diff.new_mode:
        keys.append(MODE)
    return tuple(keys) or (WHOLE_FILE,)


def changes_kind(diff: FileDiff) -> bool:
    """Whether a file became a symlink or the other way round: then it is one decision, whatever the lines are."""
    is_change = diff.old_mode is not None and diff.new_mode is not None
    return is_change and stat.S_IFMT(diff.old_mode or 0) != stat.S_IFMT(diff.new_mode or 0)


def _hunk(edits: list[Edit], old_count: int, context: int) -> Hunk:
    first, last = edits[0], edits[-1]
    before = min(context, first.old_start)
    after = min(context, old_count - last.old_end)
    return Hunk(
        tuple(edits),
        first.old_start - before,
        last.old_end + after,
        first.new_start - before,
        last.new_end + after,
    )


def _text_key(diff: FileDiff, hunk: Hunk) -> str:
    hasher = hashlib.blake2b(digest_size=8)
    for edit in hunk.edits:
        removed, added = diff.old_lines[edit.old_start : edit.old_end], diff.new_lines[edit.new_start : edit.new_end]
        for sign, lines in ((b"-", removed), (b"+", added)):
            for line in lines:
                hasher.update(sign)
                hasher.update(line.encode("utf-8", "surrogateescape"))
        hasher.update(b"@")
    return hasher.hexdigest()
