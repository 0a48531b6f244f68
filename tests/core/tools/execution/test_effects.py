"""Changes are recorded with their authors, also between calls and across sessions."""

import asyncio
import threading
from pathlib import Path

import pytest

from desktop_agent.core.capture.baseline import Baseline
from desktop_agent.core.capture.capture import Snapshot, StatCapture
from desktop_agent.core.capture.safety import SafetyCopies, SafetyLimits
from desktop_agent.core.capture.scan import CaptureStoppedError
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import FileChange, FileImage
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.files import FileState, FileTransition
from desktop_agent.core.tools.execution.effects import Effects
from desktop_agent.core.tools.execution.safeguard import PlannedCommand, Safeguard
from tests.harness import PATIENCE_S


class Log:
    def __init__(self) -> None:
        self.events: list[ev.Event] = []

    async def record(self, event: ev.KnownEvent) -> None:
        self.events.append(event)

    def emit(self, event: ev.LiveEvent) -> None:
        self.events.append(event)

    @property
    def changes(self) -> list[FileChange]:
        return [change for event in self.events if isinstance(event, ev.ChangesRecorded) for change in event.changes]


RUN = PlannedCommand("true", ".", is_confined=True)


def safeguard(root: Path, folder: Path) -> Safeguard:
    limits = SafetyLimits(ignored_folders=frozenset({".git"}), max_captured_bytes=2**23)
    return Safeguard(root, SafetyCopies(root, folder, lambda: limits), folder)


class Session:
    def __init__(self, folder: Path, root: Path, capture: StatCapture | None = None) -> None:
        self.log = Log()
        self.capture = capture or StatCapture(root, Baseline(folder / "cache" / "baseline.sqlite3"))
        ledger = Ledger(root, Blobs(folder / "blobs"))
        self.effects = Effects(
            ledger, self.capture, safeguard(root, folder / "safety"), self.log, lambda _turn: 0, self.last_images
        )

    def last_images(self) -> dict[str, FileImage | None]:
        return {change.path: change.after for change in self.log.changes}

    async def edit(self, path: str, before: bytes | None, after: bytes) -> None:
        old = None if before is None else FileState(content=before)
        transition = FileTransition(path, old, FileState(content=after))
        await self.effects.apply(1, "edit", await self.effects.prepare(1, [transition]))

    @property
    def authors(self) -> list[tuple[str, str]]:
        return [(change.path, change.author) for change in self.log.changes]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    root.mkdir()
    return root


async def test_what_the_person_did_before_a_command_is_recorded_as_theirs(tmp_path: Path, root: Path) -> None:
    session = Session(tmp_path, root)
    await session.edit("a", None, b"agent\n")
    (root / "a").write_bytes(b"agent\nperson\n")
    (root / "unrelated").write_bytes(b"never the agent's business")
    snapshot = await session.effects.begin_command(1, "run", RUN)
    (root / "a").write_bytes(b"agent\nperson\nshell\n")
    await session.effects.collect(1, "run", snapshot)
    assert session.authors == [("a", "agent"), ("a", "person"), ("a", "shell")]
    one, two, three = session.log.changes
    assert (one.after, two.after) == (two.before, three.before)
    assert len({change.id for change in session.log.changes}) == 3
    kinds = [(type(event).__name__, getattr(event, "call_id", "")) for event in session.log.events[2:]]
    assert kinds == [("ChangesRecorded", ""), ("ChangesPrepared", "run"), ("ChangesRecorded", "run")]


async def test_what_the_person_did_before_an_edit_is_recorded_as_theirs(tmp_path: Path, root: Path) -> None:
    session = Session(tmp_path, root)
    await session.edit("a", None, b"agent\n")
    (root / "a").write_bytes(b"person\n")
    (root / "a").chmod(0o644)
    await session.edit("a", b"person\n", b"agent again\n")
    assert session.authors == [("a", "agent"), ("a", "person"), ("a", "agent")]


async def test_nothing_is_the_persons_when_nobody_changed_anything(tmp_path: Path, root: Path) -> None:
    session = Session(tmp_path, root)
    await session.edit("a", None, b"1\n")
    for number in range(2):
        snapshot = await session.effects.begin_command(1, f"run {number}", RUN)
        (root / "a").write_bytes(b"by command %d\n" % number)
        await session.effects.collect(1, f"run {number}", snapshot)
    await session.edit("a", b"by command 1\n", b"2\n")
    assert [author for _, author in session.authors] == ["agent", "shell", "shell", "agent"]


async def test_a_file_that_the_person_deleted_is_noticed(tmp_path: Path, root: Path) -> None:
    session = Session(tmp_path, root)
    await session.edit("a", None, b"1\n")
    (root / "a").unlink()
    await session.effects.begin_command(1, "run", RUN)
    assert session.authors == [("a", "agent"), ("a", "person")]
    assert session.log.changes[1].kind == "deleted"


async def test_another_sessions_edit_during_a_command_is_not_the_commands(tmp_path: Path, root: Path) -> None:
    one, two = Session(tmp_path, root), Session(tmp_path, root)
    snapshot = await one.effects.begin_command(1, "run", RUN)
    await two.edit("new/theirs", None, b"edit\n")
    (root / "mine").write_bytes(b"shell\n")
    await one.effects.collect(1, "run", snapshot)
    assert one.authors == [("mine", "shell")]
    assert two.authors == [("new/theirs", "agent")]


async def test_a_rename_by_a_command_is_two_changes_that_name_each_other(tmp_path: Path, root: Path) -> None:
    (root / "old").write_bytes(b"content\n")
    session = Session(tmp_path, root)
    snapshot = await session.effects.begin_command(1, "run", RUN)
    (root / "old").rename(root / "young")
    await session.effects.collect(1, "run", snapshot)
    assert [(change.path, change.kind, change.moved_to, change.moved_from) for change in session.log.changes] == [
        ("old", "deleted", "young", ""),
        ("young", "renamed", "", "old"),
    ]


class Waiting(StatCapture):
    began = threading.Event()
    was_stopped = False

    def begin(self, stop: threading.Event | None = None) -> Snapshot:
        self.began.set()
        assert stop is not None
        self.was_stopped = stop.wait(PATIENCE_S)
        raise CaptureStoppedError


async def test_stopping_a_call_stops_the_look_before_its_command(tmp_path: Path, root: Path) -> None:
    capture = Waiting(root, Baseline(tmp_path / "b.sqlite3"))
    session = Session(tmp_path, root, capture)
    task = asyncio.create_task(session.effects.begin_command(1, "run", RUN))
    await asyncio.to_thread(capture.began.wait, PATIENCE_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert capture.was_stopped
    assert session.log.events == []
