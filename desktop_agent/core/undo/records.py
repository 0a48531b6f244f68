"""How an undo or redo is written down in the journal."""

from collections.abc import Sequence

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ChangeSelection, FileChange, FileOutcome, Reverted
from desktop_agent.core.tools.execution.safeguard import Recovered
from desktop_agent.core.undo.refusals import Direction


def reverted(
    direction: Direction,
    selection: ChangeSelection,
    changes: tuple[FileChange, ...],
    outcomes: tuple[FileOutcome, ...],
    *,
    reason: str = "",
    back: Recovered | None = None,
) -> ev.ChangesUndone | ev.ChangesRedone:
    """Return the record of an undo or redo that wrote `changes`."""
    ids = tuple(change_id for outcome in outcomes if outcome.is_done for change_id in outcome.change_ids)
    if direction == "undo":
        refs, outside = (back.refs, back.outside) if back is not None else ((), ())
        return ev.ChangesUndone(
            selection=selection,
            change_ids=ids,
            outcomes=outcomes,
            changes=changes,
            reason=reason,
            refs=refs,
            outside=outside,
        )
    return ev.ChangesRedone(selection=selection, change_ids=ids, outcomes=outcomes, changes=changes, reason=reason)


def recovered(direction: Direction, changes: tuple[FileChange, ...]) -> ev.ChangesUndone | ev.ChangesRedone:
    """Return the record of an undo or redo that was cut off after it had written `changes`."""
    outcomes = tuple(
        FileOutcome(path=change.path, state="restored", change_ids=_whole(change.reverts)) for change in changes
    )
    ids = tuple(change_id for outcome in outcomes for change_id in outcome.change_ids)
    return reverted(direction, ChangeSelection(change_ids=ids), changes, outcomes)


def _whole(reverts: Sequence[Reverted]) -> tuple[str, ...]:
    return tuple(item.change_id for item in reverts if not item.hunks)
