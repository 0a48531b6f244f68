"""Session records for changes that a test makes with a ledger."""

from collections.abc import Sequence
from datetime import UTC, datetime

from desktop_agent.core.base.ids import ChangeId
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ChangeSelection, FileChange, FileOutcome
from desktop_agent.core.transcript import Transcript
from desktop_agent.core.undo.draft import UndoDraft
from desktop_agent.core.undo.execute import reverted
from desktop_agent.core.undo.plan import draft_revert
from desktop_agent.core.undo.refusals import Direction


class OnRecord:
    def __init__(self) -> None:
        self.transcript = Transcript()
        self._seq = 0

    def apply(self, event: ev.Event) -> None:
        self._seq += 1
        assert isinstance(event, ev.DurableEvent)
        self.transcript.apply(event.stamped(self._seq, datetime(2026, 1, 1, tzinfo=UTC)))  # type: ignore[arg-type]

    def changed(self, changes: Sequence[FileChange], *, turn: int = 1, call_id: str = "call") -> None:
        self.apply(ev.ChangesRecorded(turn=turn, call_id=call_id, changes=tuple(changes)))

    def turned(
        self,
        direction: Direction,
        written: Sequence[FileChange],
        outcomes: Sequence[FileOutcome] = (),
        selection: ChangeSelection | None = None,
    ) -> None:
        self.apply(reverted(direction, selection or ChangeSelection(), tuple(written), tuple(outcomes)))

    def draft(self, ledger: Ledger, direction: Direction, selection: ChangeSelection) -> UndoDraft:
        return draft_revert(self.transcript, ledger, direction, selection) or UndoDraft((), ())


def draft_of(ledger: Ledger, direction: Direction, changes: Sequence[FileChange]) -> UndoDraft:
    """Return the draft of undoing these changes, or of redoing them afterwards, with no other changes."""
    known = OnRecord()
    known.changed(changes)
    ids: tuple[ChangeId, ...] = tuple(change.id for change in changes)
    if direction == "redo":
        known.turned("undo", (), [FileOutcome(path=changes[0].path, state="restored", change_ids=ids)])
    return known.draft(ledger, direction, ChangeSelection(change_ids=ids))
