"""Chooses the body for a call's result: the first family that fits the call."""

from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat.cards.change import ChangeBody
from desktop_agent.ui.chat.cards.result_pictures import PicturesBody
from desktop_agent.ui.chat.cards.search_results import MatchesBody, WebResultsBody
from desktop_agent.ui.chat.cards.tool_body import ToolBody
from desktop_agent.ui.chat.cards.tool_output import PrintedBody, SubagentBody, TerminalBody
from desktop_agent.ui.chat.checklist import PlanBody, PlanTextBody

_FAMILIES: tuple[type[ToolBody], ...] = (
    SubagentBody, PlanBody, PlanTextBody, PicturesBody, WebResultsBody, MatchesBody, TerminalBody, ChangeBody,
    PrintedBody,
)  # fmt: skip


def family_of(entry: ToolEntry) -> type[ToolBody]:
    return next(family for family in _FAMILIES if family.fits(entry))
