"""Which widget shows which entry. Imported when the first entry is shown: an empty window does not pay for it."""

from collections.abc import Callable
from datetime import datetime

from PySide6.QtWidgets import QWidget

from desktop_agent.ui.chat.cards.source import CardLoader
from desktop_agent.ui.chat.entries.base import EntryWidget
from desktop_agent.ui.chat.entries.command import CommandWidget
from desktop_agent.ui.chat.entries.compaction import CompactionWidget
from desktop_agent.ui.chat.entries.line import LineWidget
from desktop_agent.ui.chat.entries.notice import NoticeWidget
from desktop_agent.ui.chat.entries.page import PageWidget
from desktop_agent.ui.chat.entries.prompt import PromptWidget
from desktop_agent.ui.chat.entries.text import TextWidget
from desktop_agent.ui.chat.entries.thinking import ThinkingWidget
from desktop_agent.ui.chat.entries.tool import ToolWidget
from desktop_agent.ui.chat.entry_actions import EntryActions
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.chat.transcript.row import EntryRow


def make_widget(
    row: EntryRow,
    styles: TextStyles,
    actions: EntryActions,
    parent: QWidget,
    now: Callable[[], datetime],
    loader: CardLoader | None,
) -> EntryWidget:
    """Return a new widget for the row's entry."""
    match row.entry.kind:
        case "prompt":
            return PromptWidget(row, styles, actions, parent)
        case "text":
            return TextWidget(row, styles, actions, parent)
        case "thinking":
            return ThinkingWidget(row, styles, actions, parent)
        case "tool":
            return ToolWidget(row, styles, actions, parent, now, loader)
        case "page":
            return PageWidget(row, styles, actions, parent)
        case "notice":
            return NoticeWidget(row, styles, actions, parent)
        case "command":
            return CommandWidget(row, styles, actions, parent)
        case "compaction":
            return CompactionWidget(row, styles, actions, parent)
        case "undo" | "rewind" | "fork" | "turn_end":
            return LineWidget(row, styles, actions, parent)
