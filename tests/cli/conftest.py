"""A recorded session in a real folder, and commands on it."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Author, FileChange, ModelRef, ToolCall, Uncaptured
from desktop_agent.core.store.journal.journal import Journal
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.system.file_writes import write_state
from desktop_agent.core.system.files import FileState, FileTransition, read_state
from tests.command_line import CommandLine, Ran
from tests.memory_keyring import MemoryKeyring, use_keyring

MODEL = ModelRef(provider="anthropic", model="claude-opus-5-5")


def write_session(number: int, workspace: str, *events: ev.KnownEvent, at: datetime) -> SessionId:
    """Write a session of `MODEL` with these events, one per minute from `at`."""
    bench = Workbench.from_environment()
    session_id = f"20261116-0900{number:02}-aaaaaa"
    opened = ev.SessionOpened(
        session_id=session_id, workspace=workspace, model=MODEL, approval="on_write", app_version="1"
    )
    journal = Journal.create(bench.paths.sessions / session_id / "journal.jsonl", bench.blobs)
    for place, event in enumerate((opened, *events)):
        journal.append(event.stamped(place + 1, at + timedelta(minutes=place)), is_durable=False)
    journal.close()
    return session_id


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


Command = Callable[..., Ran]


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> MemoryKeyring:
    backend = MemoryKeyring()
    use_keyring(monkeypatch, backend)
    return backend


class RecordedSession:
    """A session written by a test: files change on disk, and the journal records the changes.

    Every change is made by a call of its own: `call-1`, `call-2` …
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._bench = Workbench.from_environment()
        self._ledger = Ledger(folder, self._bench.blobs)
        self._calls = 0
        self._numbers: dict[int, int] = {}
        self.id: SessionId = asyncio.run(self._create())  # noqa: TID251 - no loop runs yet

    def write(self, path: str, content: bytes | None, *, turn: int = 1, author: Author = "agent") -> None:
        """Write a file, or remove it if `content` is None."""
        before = read_state(self.folder / path)
        after = None if content is None else FileState(content=content, mode=before.mode if before else 0o644)
        write_state(self.folder / path, after)
        self._tell(turn, [self._record(path, before, after, turn, author)])

    def rename(self, old: str, new: str, *, turn: int = 1) -> None:
        before, replaced = read_state(self.folder / old), read_state(self.folder / new)
        (self.folder / old).rename(self.folder / new)
        left = replace(self._record(old, before, None, turn), moved_to=new)
        arrived = replace(self._record(new, replaced, before, turn), moved_from=old, kind="renamed")
        self._tell(turn, [left, arrived])

    def miss(self, path: str, reason: str, *, turn: int = 1) -> None:
        self._tell(turn, [], (Uncaptured(path=path, reason=reason),))

    def tell(self, event: ev.KnownEvent) -> None:
        path = self._bench.catalog.journal_path(self.id)
        seq = len(read_journal(path, self._bench.blobs)[0]) + 1
        journal, _ = Journal.open(path, self._bench.blobs)
        journal.append(event.stamped(seq, SystemClock().now()), is_durable=False)
        journal.close()

    def read(self, path: str) -> bytes:
        return (self.folder / path).read_bytes()

    async def _create(self) -> SessionId:
        session = await self._bench.create_session(self.folder, sink=lambda _: None)
        session.submit(ops.Shutdown())
        await session.run()
        return session.id

    def _record(
        self, path: str, before: FileState | None, after: FileState | None, turn: int, author: Author = "agent"
    ) -> FileChange:
        self._numbers[turn] = self._numbers.get(turn, 0) + 1
        transition = FileTransition(path=path, before=before, after=after)
        return self._ledger.record(transition, author=author, change_id=f"{turn}.{self._numbers[turn]}")

    def _tell(self, turn: int, changes: list[FileChange], uncaptured: tuple[Uncaptured, ...] = ()) -> None:
        self._calls += 1
        call = ToolCall(id=f"call-{self._calls}", name="edit_file", arguments={})
        self.tell(
            ev.ToolCallStarted(
                turn=turn, call=call, title="", source="workspace", capabilities=("write_fs",), is_read_only=False
            )
        )
        self.tell(ev.ChangesRecorded(turn=turn, call_id=call.id, changes=tuple(changes), uncaptured=uncaptured))


@pytest.fixture
def changes(run: CommandLine) -> Command:
    return partial(run, "changes")


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecordedSession:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-000000000000")
    folder = tmp_path / "project"
    folder.mkdir()
    return RecordedSession(folder)
