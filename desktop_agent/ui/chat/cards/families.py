"""Chooses the body that shows a call's result: that of the first family whose data the result has.

A result without a family shows the first lines of the tool's answer.
"""

from desktop_agent.core.protocol.model import Aborted, Denied
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.cards.change import ChangeBody
from desktop_agent.ui.chat.cards.checklist import PlanBody
from desktop_agent.ui.chat.cards.result_pictures import PicturesBody
from desktop_agent.ui.chat.cards.search_results import MatchesBody, WebResultsBody
from desktop_agent.ui.chat.cards.tool_body import SHOWN_LINES, Bar, Content, ToolBody, entry_of
from desktop_agent.ui.chat.cards.tool_output import OutputExcerpt, TerminalBody, first_lines, readable
from desktop_agent.ui.chat.entries.entry import EntryRow


class PrintedBody(ToolBody):
    """Text as it came."""

    @classmethod
    def fits(cls, entry: ToolEntry) -> bool:
        return True

    @classmethod
    def read(cls, row: EntryRow) -> Content:
        return Content(_excerpt(entry_of(row)).text)

    def bar(self) -> Bar | None:
        entry = entry_of(self.row)
        shown = _excerpt(entry)
        hidden = shown.hidden_lines
        is_stored = entry.result is not None and entry.result.output is not None
        if not hidden and not shown.cut_lines and not is_stored:
            return None
        more = entry_words.counted(hidden, "… %n line more", "… %n lines more") if hidden else ""
        cut = entry_words.cut_lines(shown.cut_lines, shown.cut_chars)
        return Bar(" · ".join(filter(None, (cut, more))), self.tr("Show all output"))


def _excerpt(entry: ToolEntry) -> OutputExcerpt:
    # The result of a refused call says to the model what the card already says.
    if entry.result is None or isinstance(entry.decision, Denied | Aborted):
        return OutputExcerpt("", 0)
    return first_lines(readable(entry.result.content), SHOWN_LINES)


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
    return next(family for family in _FAMILIES if family.fits(entry))
