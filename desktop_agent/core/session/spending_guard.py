"""Keeps a session from spending more than it may: looks before each request at what was spent."""

from typing import Final

from desktop_agent.core.base.money import money
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.event_log import EventLog
from desktop_agent.core.protocol.model import ModelRef, Usage
from desktop_agent.core.session.limits import TurnLimits
from desktop_agent.core.transcript import TurnState

MAX_COST: Final = "max_cost"
"""The code of the notice that a turn has cost as much as it may."""


class SpendingGuard:
    """The limits of what one session spends. Only what is known of costs counts."""

    def __init__(self, turns: TurnState, limits: TurnLimits, log: EventLog) -> None:
        self._turns = turns
        self._limits = limits
        self._log = log
        self._unpriced: set[ModelRef] = set()
        """Of which models it was said that a limit does not count them."""

    async def stops(self, turn: int) -> bool:
        """Whether the turn must not ask the model again; a notice says why."""
        limit, spent = self._limits.max_cost_usd, self._turns.turn_usage.cost_usd or 0.0
        if limit is None or spent < limit:
            return False
        title = f"The turn has cost {money(spent)}, and may cost {money(limit)}."
        hint = "What it did until then is kept. Allow it to cost more, or go on with the session."
        await self._log.record(ev.Notice(level="error", code=MAX_COST, title=title, hint=hint, turn=turn))
        return True

    async def note(self, turn: int, usage: Usage, model: ModelRef) -> None:
        """Warn, once for each model, of a limit that cannot hold because nobody knows what the model costs."""
        if usage.cost_usd is not None or self._limits.max_cost_usd is None or model in self._unpriced:
            return
        self._unpriced.add(model)
        title = f"What {model.model} costs is not known, so no limit of costs holds for it."
        hint = "Its requests are not counted. A limit of requests or of time holds."
        await self._log.record(ev.Notice(level="warning", code="unknown_price", title=title, hint=hint, turn=turn))
