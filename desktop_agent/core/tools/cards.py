"""What a search found, as the window shows it: places that a click opens.

Every searching tool puts these under the key `matches` of its result's metadata:
`{"path": relative to the workspace, "line": number or None, "text": what stands there}`. Only the first 200, because
metadata is journalled with every result.
"""

from collections.abc import Sequence
from pathlib import Path

from desktop_agent.core.protocol.model import JsonObject

MOST_CARDS = 200


def card(path: str, line: int | None, text: str) -> JsonObject:
    """Return one place."""
    return {"path": path, "line": line, "text": text}


def file_cards(entries: Sequence[str], folder: str = ".") -> list[JsonObject]:
    """Return the places of files that are named relative to `folder`, itself relative to the workspace."""
    prefix = "" if folder == "." else f"{folder}/"
    return [card(prefix + entry, None, "") for entry in entries[:MOST_CARDS]]


def relative_to(root: Path, path: str) -> str:
    """Return `path`, as a tool's answer has it, relative to the workspace."""
    return path.removeprefix(f"{root.as_posix()}/")
