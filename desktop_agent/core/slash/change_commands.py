"""`/undo`, `/redo`, `/diff` and `/export`: take back what the agent changed, show it, or write it to a file."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.plain_text import number_of
from desktop_agent.core.changes.net import net_changes
from desktop_agent.core.changes.patch import patch_of
from desktop_agent.core.export import ExportForm
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection, FileOutcome
from desktop_agent.core.slash.declarations import Invocation, bullets, code, fenced
from desktop_agent.core.slash.session_commands import CommandParts, Reply, SessionControls, no_more, reported
from desktop_agent.core.transcript import ChangeRecord
from desktop_agent.core.undo.refusals import Direction, describe_outcome, describe_step

MAX_PATCH_CHARS = 60_000


async def undo(invocation: Invocation, parts: CommandParts, controls: SessionControls) -> Reply:
    done = await controls.perform(ops.UndoChanges(selection=_selection(invocation, "undo", parts)))
    undone = done.first(ev.ChangesUndone)
    return _reply_about("Undone", undone.outcomes) if undone is not None else done.refused("Nothing was undone.")


async def redo(invocation: Invocation, parts: CommandParts, controls: SessionControls) -> Reply:
    if invocation.words[:1] == ("steps",):
        no_more(invocation.words[1:], "/redo steps")
        return _steps(parts)
    done = await controls.perform(_redo_op(invocation, parts))
    redone = done.first(ev.ChangesRedone)
    return _reply_about("Applied again", redone.outcomes) if redone is not None else done.refused("Nothing was redone.")


async def diff(invocation: Invocation, parts: CommandParts, controls: SessionControls) -> Reply:
    no_more(invocation.words, "/diff")
    records = [record for record in parts.transcript.changes.values() if record.change.is_by_agent]
    rows = [row for row in net_changes(records) if row.state != "undone"]
    partly = sum(row.state == "partly" for row in rows)
    with reported():
        changes = [row.change for row in rows]
        patch = await asyncio.to_thread(patch_of, changes, parts.contents, is_for_reading=True)
    text = patch.decode("utf-8", "replace")
    if not text:
        return Reply("The agent changed no file in this conversation, or all of it is undone.")
    lines = [f"{number_of(len(rows), 'file')} changed by the agent."]
    if partly:
        lines.append(f"Part of {number_of(partly, 'file')} is undone; the patch shows everything that was changed.")
    if len(text) > MAX_PATCH_CHARS:
        text = text[: text.rfind("\n", 0, MAX_PATCH_CHARS)]
        session_id = parts.transcript.session.session_id
        lines.append(f"This is only the beginning; `desktop-agent changes diff {session_id}` prints all of it.")
    return Reply(f"{' '.join(lines)}\n\n{fenced(text, 'diff')}")


def _redo_op(invocation: Invocation, parts: CommandParts) -> ops.RedoChanges | ops.RedoSteps:
    steps = (str(step.seq) for step in parts.transcript.changed.steps)
    match invocation.words:
        case ():
            return ops.RedoSteps()
        case ("all",):
            return ops.RedoSteps(is_all=True)
        case ("step", number) if number.isdecimal() and number in steps:
            return ops.RedoSteps(steps=(int(number),))
        case ("step", *_):
            raise UsageError("There is no such undo.", hint="`/redo steps` lists them with their numbers.")
        case _:
            return ops.RedoChanges(selection=_selection(invocation, "redo", parts))


def _steps(parts: CommandParts) -> Reply:
    transcript = parts.transcript
    steps = transcript.changed.steps
    if not steps:
        return Reply("There is no undo that can be redone.")
    lines = [f"{step.seq}: {code(describe_step(step, transcript.changes))}" for step in reversed(steps)]
    return Reply(f"`/redo` redoes the first of these, `/redo step NUMBER` another one.\n\n{bullets(lines)}")


def _reply_about(done: str, outcomes: Sequence[FileOutcome]) -> Reply:
    left = [outcome for outcome in outcomes if not outcome.is_done]
    count = len(outcomes) - len(left)
    sentences = [f"{done}: {number_of(count, 'file')}."]
    if left:
        sentences.append(f"Left as they are: {len(left)}.")
    listed = bullets(code(describe_outcome(outcome)) for outcome in outcomes)
    return Reply(f"{' '.join(sentences)}\n\n{listed}".rstrip(), is_error=bool(left) and not count)


def _selection(invocation: Invocation, direction: Direction, parts: CommandParts) -> ChangeSelection:
    transcript = parts.transcript
    candidates = transcript.changed.active() if direction == "undo" else transcript.changed.undone()
    kind, *more = invocation.words or ("turn",)
    if kind.isdecimal() and not more:
        kind, more = "turn", [kind]
    steps = " | step NUMBER | steps" if direction == "redo" else ""
    no_more(more[1:], f"/{direction} [turn [N] | call [ID] | file PATH | all{steps}]")
    value = more[0] if more else ""
    match kind:
        case "all":
            no_more(more, f"/{direction} all")
            return ChangeSelection()
        case "turn" if not value:
            return ChangeSelection(turn=_latest(candidates, direction).turn)
        case "turn" if value.isdecimal() and len(value) < 10:
            return ChangeSelection(turn=int(value))
        case "call":
            return ChangeSelection(call_id=value or _latest(candidates, direction).call_id)
        case "file" if value:
            return _of_file(_relative(value, parts.workspace), parts)
        case _:
            meant = code(" ".join([kind, *more]))
            last = "turn" if direction == "undo" else "undo"
            hint = f"Write `/{direction}` for the last {last}, or `turn N`, `call ID`, `file PATH` or `all` after it."
            raise UsageError(f"/{direction} does not know what {meant} is.", hint=hint)


def _latest(candidates: Sequence[ChangeRecord], direction: Direction) -> ChangeRecord:
    if not candidates:
        raise UsageError(f"There is nothing to {direction}.")
    return candidates[-1] if direction == "undo" else candidates[0]


def _of_file(path: str, parts: CommandParts) -> ChangeSelection:
    rows = net_changes(record for record in parts.transcript.changes.values() if record.change.is_by_agent)
    for row in rows:
        if path in (row.path, row.moved_from):
            if all(record.change.path == path for record in row.records):
                return ChangeSelection(path=path)
            return ChangeSelection(change_ids=row.change_ids)
    raise UsageError(f"The agent did not change {code(path)} in this conversation.", hint="`/diff` shows what it did.")


def _relative(path: str, workspace: Path) -> str:
    target = Path(path)
    if target.is_absolute() and target.is_relative_to(workspace):
        target = target.relative_to(workspace)
    return PurePosixPath(target.as_posix()).as_posix()


_FORMS: dict[str, ExportForm] = {"md": "md", "html": "html", "jsonl": "jsonl", "patch": "patch"}


async def export(invocation: Invocation, parts: CommandParts, controls: SessionControls) -> Reply:
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
            "Which format should it be exported in?", hint="Write `/export md PATH`; there are md, html, jsonl, patch."
        )
    return _FORMS[ending], path


def _target(workspace: Path, name: str, *, is_named: bool) -> Path:
    """Return a path that does not exist yet. If `name` is taken, number it, unless the user chose it. Blocks."""
    target = workspace / os.path.expanduser(name)  # noqa: PTH111 - Path's raises for a user that does not exist
    candidates = [target] if is_named else [target, *(target.with_stem(f"{target.stem}-{n}") for n in range(2, 100))]
    for candidate in candidates:
        if not os.path.lexists(candidate):
            return candidate
    raise UsageError(f"{code(str(target))} already exists, so nothing was written.", hint="Name another file.")
