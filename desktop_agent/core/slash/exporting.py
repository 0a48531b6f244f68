"""`/export`: the conversation, or its changes, as a file where the user wants it. Nothing is written over."""

import asyncio
import os
from pathlib import Path

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.export import ExportForm
from desktop_agent.core.slash.parse import Invocation
from desktop_agent.core.slash.parts import CommandParts, Reply, SessionHands, no_more, reported
from desktop_agent.core.slash.wording import code

_FORMS: dict[str, ExportForm] = {"md": "md", "html": "html", "jsonl": "jsonl", "patch": "patch"}


async def export(invocation: Invocation, parts: CommandParts, hands: SessionHands) -> Reply:
    """Write the file, and say where it is. Without a path it gets a name of its own in the workspace."""
    exporter = parts.services.exporter
    assert exporter is not None, "not offered without it"
    form, path = _request(invocation)
    name = path or f"{parts.transcript.session.session_id}.{form}"
    target = await asyncio.to_thread(_target, parts.workspace, name, is_named=bool(path))
    with reported():
        await exporter(parts.transcript.session.session_id, form, target)
    return Reply(f"Exported to {code(str(target))}.")


def _request(invocation: Invocation) -> tuple[ExportForm, str]:
    words = invocation.words
    if words and words[0].lower() in _FORMS:
        no_more(words[2:], "/export [md|html|jsonl|patch] [PATH]")
        return _FORMS[words[0].lower()], words[1] if len(words) > 1 else ""
    no_more(words[1:], "/export [md|html|jsonl|patch] [PATH]")
    path = words[0] if words else ""
    if not path:
        return "md", ""
    if (ending := Path(path).suffix.lower().removeprefix(".")) not in _FORMS:
        raise UsageError(
            "As what shall it be exported?", hint="Write `/export md PATH`; there are md, html, jsonl, patch."
        )
    return _FORMS[ending], path


def _target(workspace: Path, name: str, *, is_named: bool) -> Path:
    """Return a place where no file is. One that the user did not name gets a number when it is taken. Blocks."""
    target = workspace / os.path.expanduser(name)  # noqa: PTH111 - Path's raises for a user that does not exist
    candidates = [target] if is_named else [target, *(target.with_stem(f"{target.stem}-{n}") for n in range(2, 100))]
    for candidate in candidates:
        if not os.path.lexists(candidate):
            return candidate
    raise UsageError(f"{code(str(target))} is there already, so nothing was written.", hint="Name another file.")
