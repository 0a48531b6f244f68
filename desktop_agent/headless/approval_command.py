"""A program of the user's that answers approval requests: `run --approval-command CMD`.

It reads the request as one JSON object on standard input, with an edit's changes as `diff`, and writes one JSON object:
`{"decision": "allow"}`, `{"decision": "deny", "message": …}`, for a command `{"decision": "edit", "command": …}`, or
for a form `{"decision": "allow", "answers": …}`. `allow` and `edit` may have a `scope`. Anything else ends the run.
"""

import asyncio
import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct, convert, field

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import StorageError, UsageError
from desktop_agent.core.base.file_names import legible_names
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.plain_text import on_one_line
from desktop_agent.core.changes.patch import patch_of
from desktop_agent.core.protocol.codec import encode
from desktop_agent.core.protocol.model import Aborted, Allowed, Answer, ApprovalRequest, ApprovalScope, Decision, Denied
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.system.processes.child import first_of
from desktop_agent.core.system.processes.output import Sink
from desktop_agent.core.system.processes.runner import Command, ProcessRunner

_LONGEST_ANSWER = 64 * 1024
_LONGEST_SHOWN = 300


class ApprovalCommand:
    """Answers each request by running the program once. `aclose` ends programs that still run."""

    def __init__(self, command: str, folder: Path, environ: Mapping[str, str], clock: Clock, blobs: Blobs) -> None:
        """`command` is split as a POSIX shell would, and run without a shell or credentials. Raises `UsageError`."""
        try:
            argv = tuple(shlex.split(command, posix=os.name != "nt"))
        except ValueError as error:
            raise UsageError(f"The approval command cannot be read: {error}.") from error
        if not argv:
            raise UsageError("The approval command is empty.")
        self._argv = argv
        self._folder = folder
        self._environ = child_environment(environ)
        self._processes = ProcessRunner(clock)
        self._blobs = blobs

    async def __call__(self, request: ApprovalRequest) -> Decision:
        answer, words, is_full = bytearray(), bytearray(), asyncio.Event()
        try:
            asked = await asyncio.to_thread(self._request_json, request)
        except StorageError as error:
            return Aborted(reason=f"the approval command could not be shown what would change: {error.title}")
        command = Command(argv=self._argv, cwd=self._folder, environ=self._environ, stdin=asked)
        try:
            child = await self._processes.start(command, _sink_into(answer, is_full), _sink_into(words, is_full))
        except OSError as error:
            return Aborted(reason=f"the approval command could not be started: {error.strerror or error}")
        try:
            await first_of(child.wait(), is_full.wait())
        finally:
            ended = await child.end()
        if is_full.is_set():
            return Aborted(reason=f"the approval command wrote more than {_LONGEST_ANSWER // 1024} KiB")
        if ended.exit_code != 0:
            said = on_one_line(words.decode(errors="replace").strip())[:_LONGEST_SHOWN]
            return Aborted(reason=f"the approval command ended with code {ended.exit_code}{said and ': '}{said}")
        return decision_of(bytes(answer), request)

    def _request_json(self, request: ApprovalRequest) -> str:
        patch = patch_of(request.changes, self._blobs.of_file)
        # A byte of a file that is not UTF-8 is half of a surrogate pair, which JSON has in ASCII only.
        return json.dumps(legible_names(encode(request)) | {"diff": patch.decode("utf-8", "surrogateescape")}) + "\n"

    async def aclose(self) -> None:
        await self._processes.aclose()


def decision_of(answer: bytes, request: ApprovalRequest) -> Decision:
    """Return the decision in an answer. Anything unclear is not a yes."""
    try:
        fields = convert(json.loads(answer, object_pairs_hook=_without_duplicates), learned(_Answer))
    except (ValueError, RecursionError) as error:
        return Aborted(reason=f"the answer of the approval command is not as documented ({error})")
    if fields.decision == "deny":
        return Denied(message=fields.message)
    is_sampling = request.question is not None and request.question.sampling is not None
    if fields.scope not in {"once", "session" if is_sampling else "once", *(offer.scope for offer in request.scopes)}:
        return Aborted(reason=f"the approval command answered with a scope that is not offered: {fields.scope}")
    if fields.answers and (request.question is None or not request.question.fields):
        return Aborted(reason="the approval command filled in a form where there is none")
    if fields.decision == "allow":
        return Allowed(scope=fields.scope, answers=fields.answers)
    if request.command is None or not fields.command.strip():
        return Aborted(reason="the approval command edited a command where there is none")
    return Allowed(scope=fields.scope, edited_command=fields.command)


class _Answer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    decision: Literal["allow", "deny", "edit"]
    message: str = ""
    command: str = ""
    scope: ApprovalScope = "once"
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Raises `ValueError` for a duplicate key, because that is not a clear yes."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field is in it twice")
    return fields


def _sink_into(into: bytearray, is_full: asyncio.Event) -> Sink:
    def take(content: bytes) -> None:
        into.extend(content[: _LONGEST_ANSWER - len(into)])
        if len(into) >= _LONGEST_ANSWER:
            is_full.set()

    return take
