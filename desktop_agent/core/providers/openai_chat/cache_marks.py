"""Marks in messages of Chat Completions: up to where a router's vendor shall keep the prompt in its cache.

Source: https://openrouter.ai/docs/guides/best-practices/prompt-caching
"""

from collections.abc import Iterable

from desktop_agent.core.protocol.foreign_json import objects_in
from desktop_agent.core.protocol.model import JsonObject

_KEPT: JsonObject = {"type": "ephemeral"}


def mark(messages: list[JsonObject], ends: Iterable[int]) -> None:
    """Mark, in place, the last text before each of the `ends`, which count messages.

    A message without text, such as one of calls only, is passed over for the one before.
    """
    for end in ends:
        for number in reversed(range(end)):
            if (marked := _marked(messages[number])) is not None:
                messages[number] = marked
                break


def _marked(message: JsonObject) -> JsonObject | None:
    """Return a message with a mark on its last part that is text, or `None` for one that has none."""
    content = message.get("content")
    if isinstance(content, str):
        return message | {"content": [{"type": "text", "text": content, "cache_control": _KEPT}]}
    parts = objects_in(message, "content")
    for number in reversed(range(len(parts))):
        if parts[number].get("type") == "text":
            marked = parts[number] | {"cache_control": _KEPT}
            return message | {"content": [*parts[:number], marked, *parts[number + 1 :]]}
    return None
