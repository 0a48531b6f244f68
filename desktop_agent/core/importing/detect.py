"""Whose file it is, by what its first lines say. The name of the file does not count."""

from itertools import islice
from pathlib import Path

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.importing.claude_code import is_claude_code
from desktop_agent.core.importing.codex import is_codex
from desktop_agent.core.importing.facts import SourceKind
from desktop_agent.core.importing.fields import read_objects
from desktop_agent.core.importing.own import is_own

_LOOKED_AT = 200
"""Lines. A file may begin with some that several programs could have written."""


def detect(path: Path) -> SourceKind:
    """Return which program wrote the file. Raises `UsageError` when it is none that is known, and `StorageError`."""
    problems: list[str] = []
    for _, fields in islice(read_objects(path, problems), _LOOKED_AT):
        if is_own(fields):
            return "desktop-agent"
        if is_codex(fields):
            return "codex"
        if is_claude_code(fields):
            return "claude-code"
    raise UsageError(
        f"{path.name} is not a conversation that can be imported.",
        hint="Claude Code keeps them in ~/.claude/projects, Codex in ~/.codex/sessions, each as a .jsonl file.",
        detail="\n".join(problems[:10]),
    )
