"""Which family of results a call belongs to: the first whose data it has."""

from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat.cards.body import ToolBody
from desktop_agent.ui.chat.cards.change import ChangeBody
from desktop_agent.ui.chat.cards.matches import MatchesBody
from desktop_agent.ui.chat.cards.pictures import PicturesBody
from desktop_agent.ui.chat.cards.plan import PlanBody
from desktop_agent.ui.chat.cards.printed import PrintedBody
from desktop_agent.ui.chat.cards.terminal import TerminalBody
from desktop_agent.ui.chat.cards.web import WebResultsBody

_FAMILIES: tuple[type[ToolBody], ...] = (
    PlanBody,
    PicturesBody,
    WebResultsBody,
    MatchesBody,
    TerminalBody,
    ChangeBody,
    PrintedBody,
)


def family_of(entry: ToolEntry) -> type[ToolBody]:
    """Return the kind of body that shows a call."""
    return next(family for family in _FAMILIES if family.fits(entry))
