from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    FileChange,
    FileImage,
    ModelRef,
    SearchHit,
    SearchQuery,
    TextBlock,
    ToolCall,
    ToolResult,
)
from desktop_agent.core.search.session_search import SessionSearch
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal import JOURNAL_NAME, Journal
from desktop_agent.core.system.files import digest_of

MONDAY = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
MODEL = ModelRef(provider="scripted", model="scripted")


class Library:
    def __init__(self, folder: Path) -> None:
        self.sessions = folder / "sessions"
        self.blobs = Blobs(folder / "blobs")
        self.cache = folder / "cache"
        self.now = MONDAY
        self.search = self.open()

    @property
    def database(self) -> Path:
        return self.cache / "session-search.sqlite3"

    def open(self) -> SessionSearch:
        return SessionSearch(self.sessions, self.blobs, self.cache)

    def journal(self, session_id: SessionId) -> Path:
        return self.sessions / session_id / JOURNAL_NAME

    def session(self, number: int, *events: ev.DurableEvent, workspace: str = "/home/ann/app") -> SessionId:
        session_id = f"20261116-0900{number:02}-aaaaaa"
        opened = ev.SessionOpened(
            session_id=session_id, workspace=workspace, model=MODEL, approval="on_write", app_version="1"
        )
        Journal.create(self.journal(session_id), self.blobs).close()
        self.write(session_id, opened, *events)
        return session_id

    def write(self, session_id: SessionId, *events: ev.DurableEvent) -> None:
        path = self.journal(session_id)
        seq = path.read_bytes().count(b"\n")
        journal, _ = Journal.open(path, self.blobs)
        for number, event in enumerate(events, start=1):
            self.now += timedelta(minutes=1)
            stamped = event.stamped(seq + number, self.now)
            assert isinstance(stamped, ev.JournalEvent)
            journal.append(stamped, is_durable=False)
        journal.close()

    def image(self, content: bytes) -> FileImage:
        self.blobs.put(content)
        return FileImage(digest=digest_of(content), size=len(content), mode=0o644)

    def ask(self, text: str = "", **filters: object) -> list[SearchHit]:
        self.search.update()
        return self.search.ask(SearchQuery(text=text, **filters))  # pyright: ignore[reportArgumentType] - filters by name

    def found(self, text: str = "", **filters: object) -> list[tuple[str, str]]:
        hits = self.ask(text, **filters)
        return [(hit.kind, hit.snippet[slice(*hit.marks[0])] if hit.marks else "") for hit in hits]


def prompt(text: str, turn: int = 1) -> ev.PromptSubmitted:
    return ev.PromptSubmitted(turn=turn, prompt_id="p-1", text=text)


def reply(text: str, turn: int = 1) -> ev.MessageDone:
    return ev.MessageDone(
        turn=turn, message_id="m", model=MODEL, content=(TextBlock(text=text),), stop_reason="end_turn"
    )


def call(call_id: str, tool: str, **arguments: object) -> ev.ToolCallStarted:
    title = str(next(iter(arguments.values()), ""))
    return ev.ToolCallStarted(
        turn=1,
        call=ToolCall(id=call_id, name=tool, arguments=arguments),
        title=title,
        source="workspace",
        capabilities=(),
        is_read_only=True,
    )


def result(call_id: str, content: str) -> ev.ToolCallFinished:
    return ev.ToolCallFinished(
        turn=1, call_id=call_id, state="completed", result=ToolResult(content=content), duration_s=0.1
    )


def change(path: str, before: FileImage | None, after: FileImage | None) -> FileChange:
    kind = "created" if before is None else "deleted" if after is None else "modified"
    return FileChange(id="1.1", path=path, kind=kind, author="agent", before=before, after=after)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path)
