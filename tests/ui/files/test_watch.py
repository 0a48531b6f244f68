"""Noticing changes of open folders and of the repository, on a real file system."""

from itertools import count
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QTimer
from pytestqt.qtbot import QtBot

from desktop_agent.ui.files.watch import FolderWatch


class Told:
    """A watch and what it emitted."""

    def __init__(self, *, settle_ms: int = 1, poll_ms: int = 60_000) -> None:
        self.watch = FolderWatch(settle_ms=settle_ms, poll_ms=poll_ms)
        self.folders: list[str] = []
        self.times = 0
        self.due = 0
        self.watch.folder_changed.connect(self.folders.append)
        self.watch.repository_changed.connect(self._note_repository)
        self.watch.due.connect(self._note_due)

    def _note_repository(self) -> None:
        self.times += 1

    def _note_due(self) -> None:
        self.due += 1


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    path = tmp_path / ".git"
    path.mkdir()
    for name in ("HEAD", "index"):
        (path / name).write_text("one", encoding="utf-8")
    return path


def replace(path: Path, content: str) -> None:
    """As git does it: write beside, then rename."""
    beside = path.with_suffix(".lock")
    beside.write_text(content, encoding="utf-8")
    beside.replace(path)


def test_a_new_entry_is_told_with_its_folder(qtbot: QtBot, tmp_path: Path) -> None:
    told = Told()
    (tmp_path / "inside").mkdir()
    told.watch.watch_folders([tmp_path, tmp_path / "inside"])
    told.watch.resume()
    (tmp_path / "inside" / "new").touch()
    qtbot.waitUntil(lambda: told.folders == [str(tmp_path / "inside")])
    told.watch.pause()


def test_many_changes_at_once_are_told_once(qtbot: QtBot, tmp_path: Path) -> None:
    told = Told(settle_ms=200)
    told.watch.watch_folders([tmp_path])
    told.watch.resume()
    for number in range(50):
        (tmp_path / f"file{number}").touch()
    qtbot.waitUntil(lambda: told.times > 0)
    assert told.folders == [str(tmp_path)]
    told.watch.pause()


def test_changes_that_never_stop_are_told_all_the_same(qtbot: QtBot, tmp_path: Path) -> None:
    told = Told(settle_ms=1500)
    told.watch.watch_folders([tmp_path])
    told.watch.resume()
    numbers = count()

    def was_told_meanwhile() -> bool:
        (tmp_path / f"file{next(numbers)}").touch()
        return bool(told.folders)

    qtbot.waitUntil(was_told_meanwhile)
    told.watch.pause()


def test_files_that_are_replaced_stay_watched(qtbot: QtBot, git_dir: Path) -> None:
    told = Told()
    told.watch.watch_repository(git_dir)
    told.watch.resume()
    for content in ("two", "three", "four"):
        told.times = 0
        replace(git_dir / "index", content)
        qtbot.waitUntil(lambda: told.times > 0)
    told.watch.pause()


def test_a_paused_watch_is_silent_and_goes_on_afterwards(qtbot: QtBot, tmp_path: Path) -> None:
    told = Told(settle_ms=200)
    told.watch.watch_folders([tmp_path])
    told.watch.resume()
    told.watch.pause()
    (tmp_path / "unseen").touch()
    told.watch.nudge()
    assert not told.watch.is_active
    told.watch.resume()
    (tmp_path / "seen").touch()
    qtbot.waitUntil(lambda: told.folders == [str(tmp_path)])
    assert told.times == 1
    told.watch.pause()


def test_news_that_are_on_their_way_when_it_is_paused_are_not_told(qtbot: QtBot, tmp_path: Path) -> None:
    told = Told()
    told.watch.watch_folders([tmp_path])
    told.watch.resume()
    told.watch.due.connect(told.watch.pause, Qt.ConnectionType.QueuedConnection)
    (tmp_path / "new").touch()
    told.watch.due.emit()  # now both are waiting for the next round of the loop
    qtbot.waitUntil(lambda: not told.watch.is_active)
    assert not any(timer.isActive() for timer in told.watch.findChildren(QTimer))
    assert told.folders == []


def test_a_nudge_counts_as_a_change(qtbot: QtBot) -> None:
    told = Told()
    told.watch.resume()
    told.watch.nudge()
    qtbot.waitUntil(lambda: told.times == 1)
    assert told.folders == []
    told.watch.pause()


def test_from_time_to_time_it_is_due_to_look_again(qtbot: QtBot) -> None:
    told = Told(poll_ms=1)
    told.watch.resume()
    qtbot.waitUntil(lambda: told.due >= 2)
    told.watch.pause()
