"""Journals without times, random ids, the folder and the model's address."""

import json
import re
from pathlib import Path
from typing import Any

JsonValue = Any

_TIMES = frozenset({"at", "duration_s", "opened_at", "created_at", "duration_seconds", "mtime_ns"})
_TOLD_TIME = re.compile(r'(\\"duration_seconds\\": )[0-9.]+')
"""In the model's view of a command."""

_SHOWN = frozenset({"judged", "folder", "snapshot"})
"""Facts about an edited command that only the window shows, and the ids of folder and snapshot."""

_IDS = re.compile(r"\d{8}-\d{6}-[0-9a-z]{6}|\bp-[0-9a-z]{8}\b")


def normalised(journal: Path, folder: Path, url: str) -> list[dict[str, JsonValue]]:
    """Return a journal's records; ids are numbered in order of appearance."""
    text = journal.read_text(encoding="utf-8").replace(str(folder), "<folder>").replace(url, "<model>")
    text = _TOLD_TIME.sub(r"\1<time>", text)
    numbers: dict[str, str] = {}
    text = _IDS.sub(lambda match: numbers.setdefault(match[0], f"<id {len(numbers) + 1}>"), text)
    return [json.loads(line, object_hook=_without_times) for line in text.splitlines()]


def _without_times(fields: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {key: "<time>" if key in _TIMES else value for key, value in fields.items() if key not in _SHOWN}
