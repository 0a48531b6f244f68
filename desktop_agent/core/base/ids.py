"""Identifiers: plain strings or integers, so that JSON, file names and command lines hold them unchanged."""

import re
import secrets
from datetime import datetime
from typing import Literal

from desktop_agent.core.base.regex import regex

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u to misread

SessionId = str
"""`20261121-213700-k3f9qx`: UTC creation time, then 30 random bits. Sorts by creation; safe as a folder name."""

CallId = str
"""The model's own id of a tool call (`toolu_…`). Opaque: never used as a file name."""

PromptId = str

ChangeId = str
"""`3.2`: a change of turn 3. If an old journal used the id twice, the changes are `3.2~1` and `3.2~2`."""

HunkKey = str
"""A hunk's removed and added lines (`diff.hunks`); or `file`, `mode` or `endings` for changes other than lines."""

RuleId = str

Digest = str
"""BLAKE2b-256 of the content, 64 lower-case hexadecimal digits."""

_SESSION_ID = regex(r"\d{8}-\d{6}-[0-9a-hjkmnp-tv-z]{6}")
_DIGEST = regex(r"[0-9a-f]{64}")
_CHANGE_ID = regex(r"(\d{1,15})\.(\d{1,15})(~\d{1,15})?", re.ASCII)


def new_session_id(now: datetime) -> SessionId:
    return f"{now:%Y%m%d-%H%M%S}-{_random_text(6)}"


def new_prompt_id() -> PromptId:
    return f"p-{_random_text(8)}"


def new_id(kind: Literal["c", "pin", "q", "r", "request"]) -> str:
    """Return a random id of a compaction, pin, question, rule or request."""
    return f"{kind}-{_random_text(4 if kind == 'pin' else 8)}"


def claim_id(wanted: str, used: set[str]) -> str:
    identifier, number = wanted, 2
    while identifier in used:
        identifier, number = f"{wanted}_{number}", number + 1
    used.add(identifier)
    return identifier


def is_session_id(text: str) -> bool:
    """Whether a text is a session id. Never use a text in a path without this check."""
    return _SESSION_ID.fullmatch(text) is not None


def is_digest(text: str) -> bool:
    """Whether a text is a digest. Never use a text in a path without this check."""
    return _DIGEST.fullmatch(text) is not None


def change_id(turn: int, number: int) -> ChangeId:
    return f"{turn}.{number}"


def nth_change_id(identifier: ChangeId, occurrence: int) -> ChangeId:
    """`occurrence` counts from 1."""
    return f"{identifier}~{occurrence}"


def change_number(identifier: ChangeId) -> tuple[int, int] | None:
    match = _CHANGE_ID.fullmatch(identifier)
    return (int(match[1]), int(match[2])) if match else None


def _random_text(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
