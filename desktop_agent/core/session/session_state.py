"""Everything a session knows about itself: the folds of its journal, which begin where the last process left them."""

from msgspec import Struct, field

from desktop_agent.core.context.history import History
from desktop_agent.core.context.history_fold import HistoryFold
from desktop_agent.core.policy.offers import rules_of
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import Allowed, Rule
from desktop_agent.core.session.spending.state import SpendingState
from desktop_agent.core.store.unfinished import Unfinished
from desktop_agent.core.tools.reads import ReadLog
from desktop_agent.core.transcript import Transcript


class SessionState(Struct):
    """The folds of one journal."""

    transcript: Transcript = field(default_factory=Transcript)
    history: History = field(default_factory=History)
    unfinished: Unfinished = field(default_factory=Unfinished)
    reads: ReadLog = field(default_factory=ReadLog)
    spending: SpendingState = field(default_factory=SpendingState)
    rules: dict[str, Rule] = field(default_factory=dict[str, Rule])
    """What the user decided for the rest of the session, by id."""

    def clear(self) -> None:
        """Let go of what takes memory. For a session that has ended."""
        empty, whole = Transcript(), self.transcript  # which others hold, too
        whole.turns, whole.changed, whole.context, whole.shown = empty.turns, empty.changed, empty.context, empty.shown
        self.history.fold = HistoryFold()
        self.reads.seen.clear()

    def apply(self, event: ev.Event) -> None:
        """Fold one event into all of them."""
        asked = self.transcript.turns.waiting.get(event.call_id) if isinstance(event, ev.ApprovalResolved) else None
        self.transcript.apply(event)
        self.history.fold.apply(event)
        self.unfinished.apply(event)
        self.reads.apply(event)
        self.spending.apply(event)
        match event:
            case ev.ApprovalResolved(decision=Allowed()) if asked is not None and asked.spending is not None:
                self.spending.go_on(asked.spending)
            case ev.ApprovalResolved(decision=Allowed() as answer) if asked is not None:
                made = rules_of(asked, answer, now=event.at, workspace=self.transcript.session.workspace)
                self.rules |= {rule.id: rule for rule in made if rule.scope == "session"}
            case ev.RuleRevoked(rule_id=rule_id):
                self.rules.pop(rule_id, None)
            case ev.SessionForked():
                self.rules.clear()  # decided for the session that this is a copy of, not for this one
            case _:
                pass
