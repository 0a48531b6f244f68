"""Lists of a result that are longer than anything here reads: cut before the SDK makes an object of every entry.

A message may have 16 MiB, which is room for 200,000 entries. Making objects of them keeps the loop for seconds.
"""

from collections.abc import Callable
from typing import Final, cast

MOST_LISTED: Final = 20_000
"""How many entries one page of a listing keeps at most; more than `listing` takes is refused there, in words."""

MOST_TOOLS: Final = 2_000
"""How many tools of one server are listed. One more stays on a page, so that who reads it refuses the listing."""

MOST_PARTS: Final = 1_000
"""How many parts of a result, a resource or a prompt are taken; how many were left out stands behind them."""

MOST_ASKED_AT_ONCE: Final = 20
"""How much one answer of the stateless era may ask for; one that asks for more is refused, and nothing of it asked."""

_LISTED: Final = {
    "tools": MOST_TOOLS + 1,
    "prompts": MOST_LISTED + 1,
    "resources": MOST_LISTED + 1,
    "resourceTemplates": MOST_LISTED + 1,
}


def cut_long_lists(result: dict[str, object]) -> None:
    """Shorten the lists of a result, as it came, that are too long, and refuse one that asks for too much."""
    _refuse_many_questions(result)
    for name, most in _LISTED.items():
        entries = result.get(name)
        if isinstance(entries, list):
            del cast("list[object]", entries)[most:]
    _cut_parts(result, "content", lambda said: {"type": "text", "text": said})
    _cut_parts(result, "contents", lambda said: {"uri": "", "text": said})
    _cut_parts(result, "messages", lambda said: {"role": "user", "content": {"type": "text", "text": said}})


def _refuse_many_questions(result: dict[str, object]) -> None:
    """Put a failure in the place of a result that asks for very much: half of the answers would be no answer."""
    asked = result.get("inputRequests")
    if not isinstance(asked, dict) or result.get("resultType") != "input_required":
        return
    count = len(cast("dict[str, object]", asked))
    if count > MOST_ASKED_AT_ONCE:
        text = f"[The server asked for {count:,} things at once; no more than {MOST_ASKED_AT_ONCE} are answered.]"
        result.clear()
        result |= {"resultType": "complete", "isError": True, "content": [{"type": "text", "text": text}]}


def _cut_parts(result: dict[str, object], name: str, part_saying: Callable[[str], object]) -> None:
    found = result.get(name)
    if not isinstance(found, list):
        return
    parts = cast("list[object]", found)
    left_out = len(parts) - MOST_PARTS
    if left_out > 0:
        parts[MOST_PARTS:] = [part_saying(f"[{left_out:,} more parts of the server's answer were left out.]")]
