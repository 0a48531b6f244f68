"""The body of a sub-agent's card: what it does now, then its report; below, what it has used and its conversation."""

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.cards.tool_body import Bar, Content, ContentWriter, ToolBody, entry_of, one_line
from desktop_agent.ui.chat.entries.entry import EntryRow
from desktop_agent.ui.chat.text.styles import MUTED_TINT

_MAX_DOING = 300
_MAX_REPORT = 4_000


class SubagentBody(ToolBody):
    @classmethod
    def fits(cls, entry: ToolEntry) -> bool:
        return entry_words.is_task(entry)

    @classmethod
    def read(cls, row: EntryRow) -> Content:
        entry, writer = entry_of(row), ContentWriter()
        if entry.result is None:
            writer.add(one_line(entry_words.doing_of_subagent(entry), _MAX_DOING), MUTED_TINT)
        else:
            text = entry.result.content
            writer.add(named(text if len(text) <= _MAX_REPORT else f"{text[:_MAX_REPORT]}…"))
        return writer.content("plain")

    @classmethod
    def copied(cls, row: EntryRow) -> str:
        entry = entry_of(row)
        return entry.result.content if entry.result is not None else ""

    def bar(self) -> Bar | None:
        entry = entry_of(self.row)
        if entry.subagent is None:
            return None
        return Bar(entry_words.used_by_subagent(entry), self.tr("Show its conversation"))

    def on_bar_clicked(self) -> None:
        if (subagent := entry_of(self.row).subagent) is not None:
            self.actions.session_requested.emit(subagent.session_id)
