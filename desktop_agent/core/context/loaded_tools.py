"""Which tools a conversation has found or called: a function of what is shown of the journal's fold."""

from collections.abc import Mapping
from typing import Final, cast

from desktop_agent.core.context.history_fold import FOUND_KEY, HistoryFold
from desktop_agent.core.protocol.model import AssistantMessage, ToolUseBlock

SEARCH_TOOLS: Final = "search_tools"
"""The tool that finds tools whose definitions are not in a request."""


def loaded_tools(fold: HistoryFold) -> tuple[str, ...]:
    """Return the names of the tools that were found or called, each once, by where it first was.

    Only what is shown word by word counts, so that a compaction lets go of what it summarised, and going back to before
    a turn lets go of what that turn found. The order only grows at its end, for providers' caches. Some of the names
    may be of tools that there are not.
    """
    begin = fold.compaction.end if fold.compaction is not None else 0
    names: dict[str, None] = {}
    for item in fold.items[begin:]:
        if isinstance(item, AssistantMessage):
            for block in item.content:
                if isinstance(block, ToolUseBlock):
                    names |= dict.fromkeys(_named_by(block, fold))
    return tuple(names)


def _named_by(call: ToolUseBlock, fold: HistoryFold) -> tuple[str, ...]:
    if call.name != SEARCH_TOOLS:
        return (call.name,)
    result = fold.results.get(call.id)
    return found_in(result.metadata) if result is not None else ()


def found_in(metadata: Mapping[str, object]) -> tuple[str, ...]:
    """Return the names that a result of a search has. A journal may hold anything there."""
    found = metadata.get(FOUND_KEY)
    return (
        tuple(name for name in cast("list[object]", found) if isinstance(name, str)) if isinstance(found, list) else ()
    )
