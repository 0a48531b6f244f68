"""The log files of a run: JSON lines, appended as things happen. Copies for other programs, never the truth."""

import json
from pathlib import Path

from desktop_agent.core.base.errors import StorageError, UsageError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.transcript import Transcript
from desktop_agent.core.undo.refusals import describe_outcome
from desktop_agent.headless.result import tool_event


class RunLogs:
    """Writes the logs that were asked for."""

    def __init__(self, *, audit: Path | None = None, changes: Path | None = None, debug: Path | None = None) -> None:
        self._audit = audit
        self._changes = changes
        self._debug = debug

    def check(self) -> None:
        """Make sure that every log can be written, before anything runs. Raises `UsageError` naming one that cannot."""
        for path in filter(None, (self._audit, self._changes, self._debug)):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.open("ab").close()
            except OSError as error:
                raise UsageError(f"The log {path} cannot be written: {error.strerror}.") from error

    def note(self, event: ev.Event, transcript: Transcript) -> None:
        """Write what `event` means for each log; `transcript` has already folded it.

        Raises `StorageError` naming a log that cannot be written any more.
        """
        match event:
            case ev.ToolCallFinished(call_id=call_id):
                entry = transcript.paged.tool_entry(call_id)
                if entry is not None:
                    record = tool_event(entry, transcript.session.approval)
                    self._append(self._audit, record)
                    self._append(self._debug, record)
            case ev.ChangesRecorded(turn=turn, call_id=call_id, changes=changes):
                for change in changes:
                    kind, author = change.kind, change.author
                    line: JsonObject = {"turn": turn, "call": call_id, "path": change.path, "kind": kind}
                    self._append(self._changes, {**line, "author": author, "id": change.id})
            case ev.ChangesUndone(outcomes=outcomes) | ev.ChangesRedone(outcomes=outcomes):
                operations = [describe_outcome(outcome) for outcome in outcomes]
                paths = [outcome.path for outcome in outcomes]
                is_undo = isinstance(event, ev.ChangesUndone)
                self._append(self._changes, {"undo": is_undo, "operations": operations, "paths": paths})
            case _:
                pass

    def _append(self, path: Path | None, record: JsonObject) -> None:
        if path is None:
            return
        try:
            with path.open("ab") as file:
                file.write(json.dumps(record, ensure_ascii=False).encode(errors="backslashreplace") + b"\n")
        except OSError as error:
            raise StorageError(
                f"The log {path} could not be written, so the run was stopped.",
                hint="Free some disk space, or write it elsewhere.",
                detail=str(error),
            ) from error
