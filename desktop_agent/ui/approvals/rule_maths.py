"""What the rule editor must know about rules, and whom it asks: it parses no command and matches no path itself."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from desktop_agent.core.protocol.model import ApprovalRequest, Rule, RuleKind
from desktop_agent.ui.approvals.past_calls import PastCalls


class RuleMaths(Protocol):
    """The policy's own judgement, so that what is previewed is what will happen."""

    def would_allow(self, kind: RuleKind, rules: Sequence[Rule], subject: str) -> bool:
        """Whether `subject` (a command line, a path, a tool's name) would need no question if these rules held, too."""
        ...

    def validate_pattern(self, kind: RuleKind, pattern: str) -> str | None:
        """Say why a rule with this pattern never matches or cannot be made; None when it can."""
        ...

    def runs_unconfined(self, request: ApprovalRequest) -> bool:
        """Whether a yes lets the call run without a sandbox: only a rule that allows just that answers it, too."""
        ...


class RuleContext(Struct, frozen=True):
    """What rules are made from and judged by, besides the question itself."""

    maths: RuleMaths
    workspace: str
    """Where a rule for this project holds: the folder, absolute."""
    past: PastCalls
    now: Callable[[], datetime]
    """The time, aware."""
