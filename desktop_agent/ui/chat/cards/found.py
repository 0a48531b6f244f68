"""What a search found, read from the metadata of its result. Any tool may have written that: nothing is trusted."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple, cast

from desktop_agent.core.protocol.model import JsonObject, ToolResult
from desktop_agent.ui.chat.cards.content import one_line

MOST = 1_000
"""So many places at most are listed; the model reads no more either."""
_MAX_TEXT = 300
_MAX_PATH = 1_000


class FoundPlace(NamedTuple):
    """A place: a line of a file, a whole file (`line` 0), or how often a file matches (`times`)."""

    path: str
    line: int = 0
    text: str = ""
    times: int = 0


def count_found(result: ToolResult) -> int:
    """Return how many places a result lists, without reading what they say. This is asked of every call."""
    return sum(1 for _ in _listed(result)) if _has_list(result) else len(_counts(result))


def found_in(result: ToolResult, most: int = MOST) -> tuple[FoundPlace, ...]:
    """Return the first places that a result lists; none when it is not that of a search."""
    return tuple(map(_found, islice(_listed(result), most))) if _has_list(result) else _counts(result)[:most]


def _has_list(result: ToolResult) -> bool:
    return isinstance(result.metadata.get("matches"), list)


def _listed(result: ToolResult) -> Iterator[JsonObject]:
    """Yield those items of the list that name a file."""
    for item in cast("list[object]", result.metadata["matches"])[:MOST]:
        if isinstance(item, dict):
            place = cast("JsonObject", item)
            path = place.get("path")
            if path and isinstance(path, str):
                yield place


def _found(item: JsonObject) -> FoundPlace:
    path, text = item.get("path"), item.get("text")
    line, count = (value if type(value) is int and value > 0 else 0 for value in (item.get("line"), item.get("count")))
    return FoundPlace(
        one_line(path, _MAX_PATH) if isinstance(path, str) else "",
        line,
        one_line(text, _MAX_TEXT).strip() if isinstance(text, str) else "",
        count,
    )


def _counts(result: ToolResult) -> tuple[FoundPlace, ...]:
    """Read the answer of a search that only counts: a number for each path."""
    if not isinstance(result.metadata.get("matches"), int) or not result.content.startswith("{"):
        return ()
    try:
        answer: object = json.loads(result.content)
    except ValueError:
        return ()
    if not isinstance(answer, dict):
        return ()
    counts = cast("dict[str, object]", answer)
    return tuple(
        FoundPlace(one_line(path, _MAX_PATH), times=count)
        for path, count in list(counts.items())[:MOST]
        if type(count) is int and not path.startswith("[")  # "[and 7 more files]"
    )
