"""What a search found, read from the metadata of its result. Any tool may have written that: nothing is trusted."""

import json
from typing import TYPE_CHECKING, NamedTuple, cast

from desktop_agent.ui.chat.cards.content import one_line

if TYPE_CHECKING:
    from desktop_agent.core.model import JsonObject, ToolResult

MOST = 1_000
"""So many places at most are listed; the model reads no more either."""
_MAX_TEXT = 300
_MAX_PATH = 1_000


class Found(NamedTuple):
    """A place: a line of a file, a whole file (`line` 0), or how often a file matches (`times`)."""

    path: str
    line: int = 0
    text: str = ""
    times: int = 0


def found_in(result: "ToolResult") -> tuple[Found, ...]:
    """Return the places that a result lists; none when it is not that of a search."""
    listed = result.metadata.get("matches")
    if isinstance(listed, list):
        items = (cast("JsonObject", item) for item in cast("list[object]", listed)[:MOST] if isinstance(item, dict))
        return tuple(found for found in map(_found, items) if found.path)
    if isinstance(listed, int) and result.content.startswith("{"):
        return _counts(result.content)
    return ()


def _found(item: "JsonObject") -> Found:
    path, text = item.get("path"), item.get("text")
    line, count = (value if type(value) is int and value > 0 else 0 for value in (item.get("line"), item.get("count")))
    return Found(
        one_line(path, _MAX_PATH) if isinstance(path, str) else "",
        line,
        one_line(text, _MAX_TEXT).strip() if isinstance(text, str) else "",
        count,
    )


def _counts(content: str) -> tuple[Found, ...]:
    """Read the answer of a search that only counts: a number for each path."""
    try:
        answer: object = json.loads(content)
    except ValueError:
        return ()
    if not isinstance(answer, dict):
        return ()
    counts = cast("dict[str, object]", answer)
    return tuple(
        Found(one_line(path, _MAX_PATH), times=count)
        for path, count in list(counts.items())[:MOST]
        if type(count) is int and not path.startswith("[")  # "[and 7 more files]"
    )
