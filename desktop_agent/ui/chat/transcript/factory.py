"""Chooses the widget for each kind of entry. Imported with the first entry, so that an empty window starts sooner."""

from collections.abc import Callable
from datetime import datetime

from desktop_agent.core.protocol.events import CommandRun, PromptSubmitted, Steered
from desktop_agent.core.transcript import (
    CompactionEntry,
    HookEntry,
    NoticeEntry,
    PageEntry,
    SpendingEntry,
    TextEntry,
    ToolEntry,
)
from desktop_agent.ui.chat.cards.tool_body import CardLoader
from desktop_agent.ui.chat.entries.entry import EntryPlace, EntryWidget
from desktop_agent.ui.chat.entries.markdown_entries import CommandWidget, TextWidget, ThinkingWidget
from desktop_agent.ui.chat.entries.notices import CompactionWidget, HookWidget, LineWidget, NoticeWidget, PageWidget
from desktop_agent.ui.chat.entries.prompt import PromptWidget
from desktop_agent.ui.chat.entries.questions import SpendingWidget
from desktop_agent.ui.chat.entries.tool_call import ToolWidget


def make_widget(place: EntryPlace, now: Callable[[], datetime], loader: CardLoader | None) -> EntryWidget:
    match place.row.entry:
        case PromptSubmitted() | Steered():
            return PromptWidget(place, loader)
        case TextEntry(kind="text"):
            return TextWidget(place, loader)
        case TextEntry():
            return ThinkingWidget(place, loader)
        case ToolEntry():
            return ToolWidget(place, now, loader)
        case PageEntry():
            return PageWidget(place)
        case NoticeEntry():
            return NoticeWidget(place)
        case SpendingEntry():
            return SpendingWidget(place)
        case CommandRun():
            return CommandWidget(place, loader)
        case HookEntry():
            return HookWidget(place)
        case CompactionEntry():
            return CompactionWidget(place)
        case _:
            return LineWidget(place)
