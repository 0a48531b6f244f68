"""Hunks: edits that stand close together, with the unchanged lines around them."""

from collections.abc import Sequence

from desktop_agent.core.protocol.model import Edit, Hunk


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
