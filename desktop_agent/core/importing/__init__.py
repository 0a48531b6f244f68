"""Conversations of other programs, and of this one from elsewhere, as sessions to read, search and continue.

Nothing in the file is run or trusted. The journal is written in a temporary folder, and moved when it is complete.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple, cast

from msgspec import Struct
from msgspec.structs import asdict, replace

from desktop_agent.core.agents.installed import is_session_id_of_agent
from desktop_agent.core.base.errors import StorageError, UsageError, storage_error
from desktop_agent.core.base.ids import SessionId, is_session_id
from desktop_agent.core.base.plain_text import number_of
from desktop_agent.core.importing.claude_code import import_claude_code, is_claude_code, read_claude_code
from desktop_agent.core.importing.codex import import_codex, is_codex, read_codex
from desktop_agent.core.importing.conversation import (
    SOURCE_NAMES,
    ConversationWriter,
    FileFacts,
    SourceKind,
    read_objects,
)
from desktop_agent.core.importing.own import import_own, is_own, read_own
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import text_in
from desktop_agent.core.protocol.model import ApprovalPolicy, JsonObject, ModelRef, SandboxMode
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal import JOURNAL_NAME, Journal
from desktop_agent.core.store.session_folder import new_session_folder
from desktop_agent.core.system.files import new_hasher
from desktop_agent.core.system.private_files import make_private_file
from desktop_agent.core.system.workspace import why_no_workspace
from desktop_agent.core.transcript.entries import first_line

_LOOKED_AT = 200
_MAX_NAMED = 20
_MAX_TITLE = 200


class ImportPlan(Struct, frozen=True, kw_only=True):
    session_id: SessionId
    now: datetime
    model: ModelRef
    approval: ApprovalPolicy
    sandbox: SandboxMode
    app_version: str
    workspace: Path | None = None
    """The folder in which to continue; `None` for the folder that the file names."""
    fallback: Path | None = None
    """The folder in which to continue if the one that the file names is not on this machine."""
    is_again: bool = False


class Imported(Struct, frozen=True, kw_only=True):
    session_id: SessionId
    source: SourceKind
    title: str
    workspace: str
    turns: int
    messages: int
    calls: int
    left_out: tuple[str, ...]
    problems: tuple[str, ...]


class AlreadyImportedError(UsageError):
    def __init__(self, session_id: SessionId) -> None:
        hint = "Open that session, or import the conversation once more (--again)."
        super().__init__(f"This conversation was imported already, as {session_id}.", hint=hint)
        self.session_id = session_id


def import_conversation(file: Path, data: Path, blobs: Blobs, plan: ImportPlan) -> Imported:
    """Create a session in the data folder from the conversation in `file`. Blocks.

    Raises `UsageError` for an unknown or empty file, or a folder that is not on this machine, `AlreadyImportedError`,
    and `StorageError`. Then there is no new session.
    """
    kind = _kind_of(file)
    facts = FileFacts(kind)
    _FORMATS[kind].read(file, facts)
    mark = ImportMark(digest=_digest(file), source=kind, source_id=facts.source_id[:200], session_id=plan.session_id)
    sessions = data / "sessions"
    if not plan.is_again and (known := earlier_import(data / LOG_NAME, mark, sessions)) is not None:
        raise AlreadyImportedError(known)
    place = _workspace(plan, facts.workspace)
    hint = "Free some disk space, then try again."
    storing = storage_error("The conversation could not be imported.", hint=hint)
    with storing, new_session_folder(sessions, plan.session_id, plan.now) as folder:
        imported = _write(file, folder, facts, plan, place, blobs)
    with suppress(StorageError):  # the session is there: after an error the user would import it once more
        remember_import(data / LOG_NAME, mark)
    return imported


def _write(file: Path, folder: Path, facts: FileFacts, plan: ImportPlan, place: "_Place", blobs: Blobs) -> Imported:
    writer = _Writer(Journal.create(folder / JOURNAL_NAME, blobs))
    try:
        conversation = ConversationWriter(writer.record, blobs, plan.model, plan.now)
        writer.opening = ev.SessionOpened(
            session_id=plan.session_id,
            workspace=str(place.workspace),
            model=plan.model,
            approval=plan.approval,
            sandbox=plan.sandbox,
            app_version=plan.app_version,
        )
        _FORMATS[facts.kind].write(file, facts, conversation)
        conversation.finish()
        if conversation.turn == 0:
            raise UsageError(f"There is no conversation in {file.name}.", detail="\n".join(facts.problems[:_MAX_NAMED]))
        title = " ".join(facts.title.split())[:_MAX_TITLE]
        if title:
            conversation.note(ev.SessionRenamed(title=title, is_generated=not facts.is_title_given), None)
        notes = [place.note]
        if (there := _session_there(facts, place, conversation.turn)) is not None:
            conversation.note(there, None)
            notes.append(f"Choose {there.name} where a model is chosen, and it goes on in its own session.")
        left_out = [f"{what} ({count})" for what, count in (facts.left_out + conversation.left_out).items() if count]
        conversation.note(_notice(file, facts, left_out, notes), None)
    finally:
        writer.journal.close()
    return Imported(
        session_id=plan.session_id,
        source=facts.kind,
        title=title or writer.first_prompt,
        workspace=str(place.workspace),
        turns=conversation.turn,
        messages=conversation.messages,
        calls=conversation.calls,
        left_out=tuple(left_out),
        problems=tuple(facts.problems),
    )


class _Writer:
    """Numbers the records and writes them, after the opening, which gets the time of the first record."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.opening: ev.SessionOpened | None = None
        self.first_prompt = ""
        self._seq = 0

    def record(self, event: ev.KnownEvent) -> None:
        if self.opening is not None:
            opening, self.opening = self.opening, None
            self.record(replace(opening, at=event.at))
        if isinstance(event, ev.PromptSubmitted) and not self.first_prompt:
            self.first_prompt = first_line(event.text)
        self._seq += 1
        self.journal.append(event.stamped(self._seq, event.at), is_durable=False)


class _Place(Struct, frozen=True):
    workspace: Path
    note: str = ""


def _workspace(plan: ImportPlan, named: str) -> _Place:
    """Return the folder of the new session. One that the file names is used only if it is a project on this machine.

    Otherwise a stranger's file could choose the home folder, and commands would be confined only to that.
    """
    if plan.workspace is not None:
        return _Place(plan.workspace)
    folder = _local_folder(named)
    why = why_no_workspace(folder, "file") if folder is not None else ""
    if folder is not None and not why:
        return _Place(folder)
    if plan.fallback is not None:
        return _Place(plan.fallback, f"The conversation goes on in {plan.fallback}: {folder} {why}." if why else "")
    if why:
        raise UsageError(
            f"The conversation names a folder that {why}: {folder}.",
            hint="Name the folder to go on in (--workspace DIR).",
        )
    raise UsageError(
        f"The folder of this conversation is not here: {named[:300]!r}.",
        hint="Name the folder to go on in (--workspace DIR).",
    )


def _local_folder(named: str) -> Path | None:
    # Looking at a folder of another machine would tell that machine who the user is.
    if not named or named.startswith(("\\\\", "//")):
        return None
    try:
        folder = Path(named)
        return folder.resolve() if folder.is_absolute() and folder.is_dir() else None
    except (OSError, ValueError):  # a name that no system takes
        return None


def _session_there(facts: FileFacts, place: "_Place", turns: int) -> ev.AgentSessionOpened | None:
    """Return the record of the program's own session, with which its agent can go on in the same folder."""
    kind = _AGENTS.get(facts.kind, "")
    if not kind or not is_session_id_of_agent(facts.source_id) or _local_folder(facts.workspace) != place.workspace:
        return None
    name = SOURCE_NAMES[facts.kind]
    return ev.AgentSessionOpened(agent="", agent_session=facts.source_id, name=name, kind=kind, through_turn=turns)


def _notice(file: Path, facts: FileFacts, left_out: Sequence[str], notes: Sequence[str]) -> ev.Notice:
    parts = list(left_out)
    if facts.problems:
        parts.append(f"{number_of(len(facts.problems), 'line')} that cannot be read")
    listed = facts.problems[:_MAX_NAMED]
    detail = [f"File: {file.name}", f"Session there: {facts.source_id[:200]}", *listed]
    return ev.Notice(
        level="info",
        code="imported",
        title=f"Imported from {SOURCE_NAMES[facts.kind]}.",
        hint=" ".join(filter(None, (*notes, f"Left out: {', '.join(parts)}." if parts else ""))),
        detail="\n".join(detail),
    )


def _digest(file: Path) -> str:
    with storage_error("The file could not be read.", path=file), file.open("rb") as content:
        return hashlib.file_digest(content, new_hasher).hexdigest()


class _Format(NamedTuple):
    has: Callable[[JsonObject], bool]
    read: Callable[[Path, FileFacts], None]
    write: Callable[[Path, FileFacts, ConversationWriter], None]


_FORMATS: dict[SourceKind, _Format] = {
    "desktop-agent": _Format(is_own, read_own, import_own),
    "codex": _Format(is_codex, read_codex, import_codex),
    "claude-code": _Format(is_claude_code, read_claude_code, import_claude_code),
}


_AGENTS: dict[SourceKind, str] = {"codex": "codex", "claude-code": "claude"}
"""The names of the programs' agents, as in `core/agents/installed.py`."""


def _kind_of(path: Path) -> SourceKind:
    problems: list[str] = []
    for _, fields in islice(read_objects(path, problems), _LOOKED_AT):
        for kind, form in _FORMATS.items():
            if form.has(fields):
                return kind
    raise UsageError(
        f"{path.name} is not a conversation that can be imported.",
        hint="Claude Code keeps them in ~/.claude/projects, Codex in ~/.codex/sessions, each as a .jsonl file.",
        detail="\n".join(problems[:10]),
    )


LOG_NAME = "imports.jsonl"


class ImportMark(Struct, frozen=True, kw_only=True):
    """One import, recorded to prevent importing a conversation twice by mistake."""

    digest: str
    source: str
    source_id: str
    session_id: SessionId = ""

    def is_same(self, other: "ImportMark") -> bool:
        """Whether both imports are of the same file, or of a later state of the conversation."""
        has_id = bool(self.source_id)
        return self.digest == other.digest or (
            has_id and (self.source, self.source_id) == (other.source, other.source_id)
        )


def earlier_import(log: Path, mark: ImportMark, sessions: Path) -> SessionId | None:
    if not log.exists():
        return None
    for _, fields in read_objects(log, []):
        known = ImportMark(**{name: text_in(fields, name) for name in ("digest", "source", "source_id", "session_id")})
        if known.is_same(mark) and is_session_id(known.session_id) and (sessions / known.session_id).is_dir():
            return known.session_id
    return None


def remember_import(log: Path, mark: ImportMark) -> None:
    with storage_error("The import could not be noted.", path=log):
        make_private_file(log)
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(cast("JsonObject", asdict(mark))) + "\n")
