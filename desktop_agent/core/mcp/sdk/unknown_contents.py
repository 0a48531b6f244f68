"""Contents of a result of a kind that is not known: named in words in their place, so that the others are not lost."""

from typing import cast

_KNOWN = frozenset({"text", "image", "audio", "resource_link", "resource"})
_LONGEST_KIND = 40


def name_unknown_contents(result: dict[str, object]) -> None:
    """Put a text in the place of every content of a result, as it came, whose kind is not known."""
    contents = result.get("content")
    if isinstance(contents, list):
        result["content"] = [_named(content) for content in cast("list[object]", contents)]


def _named(content: object) -> object:
    if not isinstance(content, dict):
        return content
    kind = cast("dict[str, object]", content).get("type")
    if not isinstance(kind, str) or kind in _KNOWN:
        return cast("object", content)
    return {"type": "text", "text": f"[The server sent {kind[:_LONGEST_KIND]!r} here, which is not known: left out.]"}
