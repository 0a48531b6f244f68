"""Markdown of what commands say. Names and texts of others come as code, so that none of their signs mean anything."""

import re
from collections.abc import Iterable

_RUNS = re.compile(r"`+")


def code(text: str) -> str:
    """Return `text` as code within a line; line breaks become spaces."""
    line = " ".join(text.split()) or " "
    fence = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def fenced(text: str, language: str = "") -> str:
    """Return `text` as a block of code."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def bullets(lines: Iterable[str]) -> str:
    """Return `lines`, each of them markdown, as a list."""
    return "\n".join(f"- {line}" for line in lines)


def shortened(text: str, longest: int = 120) -> str:
    """Return the beginning of `text` on one line."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _longest_run(text: str) -> int:
    return max((len(run) for run in _RUNS.findall(text)), default=0)
