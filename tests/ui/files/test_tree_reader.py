"""Noticing changes of open folders and of the repository, on a real file system."""

from itertools import count
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QTimer
from pytestqt.qtbot import QtBot

from desktop_agent.ui.files.tree_reader import SELDOM_MS, FolderWatch


class News:
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
    beside = path.with_suffix(".lock")
    beside.write_text(content, encoding="utf-8")
    beside.replace(path)


def test_a_new_entry_is_reported_with_its_folder(qtbot: QtBot, tmp_path: Path) -> None:
    news = News()
    (tmp_path / "inside").mkdir()
    news.watch.watch_folders([tmp_path, tmp_path / "inside"])
    news.watch.resume()
    (tmp_path / "inside" / "new").touch()
    qtbot.waitUntil(lambda: news.folders == [str(tmp_path / "inside")])
    news.watch.pause()


def test_many_changes_at_once_are_reported_once(qtbot: QtBot, tmp_path: Path) -> None:
    news = News(settle_ms=200)
    news.watch.watch_folders([tmp_path])
    news.watch.resume()
    for number in range(50):
        (tmp_path / f"file{number}").touch()
    qtbot.waitUntil(lambda: news.times > 0)
    assert news.folders == [str(tmp_path)]
    news.watch.pause()


def test_changes_that_never_stop_are_reported_all_the_same(qtbot: QtBot, tmp_path: Path) -> None:
    news = News(settle_ms=1500)
    news.watch.watch_folders([tmp_path])
    news.watch.resume()
    numbers = count()

    def was_told_meanwhile() -> bool:
        (tmp_path / f"file{next(numbers)}").touch()
        return bool(news.folders)

    qtbot.waitUntil(was_told_meanwhile)
    news.watch.pause()


def test_files_that_are_replaced_stay_watched(qtbot: QtBot, git_dir: Path) -> None:
    news = News()
    news.watch.watch_repository(git_dir)
    news.watch.resume()
    for content in ("two", "three", "four"):
        news.times = 0
        replace(git_dir / "index", content)
        qtbot.waitUntil(lambda: news.times > 0)
    news.watch.pause()


def test_a_paused_watch_is_silent_and_goes_on_afterwards(qtbot: QtBot, tmp_path: Path) -> None:
    news = News(settle_ms=200)
    news.watch.watch_folders([tmp_path])
    news.watch.resume()
    news.watch.pause()
    (tmp_path / "unseen").touch()
    news.watch.nudge()
    assert not news.watch.is_active
    news.watch.resume()
    (tmp_path / "seen").touch()
    qtbot.waitUntil(lambda: news.folders == [str(tmp_path)])
    assert news.times == 1
    news.watch.pause()


def test_news_that_are_on_their_way_when_it_is_paused_are_not_reported(qtbot: QtBot, tmp_path: Path) -> None:
    news = News()
    news.watch.watch_folders([tmp_path])
    news.watch.resume()
    news.watch.due.connect(news.watch.pause, Qt.ConnectionType.QueuedConnection)
    (tmp_path / "new").touch()
    news.watch.due.emit()  # now both are waiting for the next round of the loop
    qtbot.waitUntil(lambda: not news.watch.is_active)
    assert not any(timer.isActive() for timer in news.watch.findChildren(QTimer))
    assert news.folders == []


def test_a_nudge_counts_as_a_change_and_from_time_to_time_it_is_due_to_look_again(qtbot: QtBot) -> None:
    news = News(poll_ms=1)
    news.watch.resume()
    news.watch.nudge()
    qtbot.waitUntil(lambda: news.times == 1 and news.due >= 2)
    assert news.folders == []
    news.watch.pause()


def test_polls_become_rarer_until_something_changes_and_a_watch_that_pauses_polls_no_more(
    qtbot: QtBot, tmp_path: Path
) -> None:
    news = News(poll_ms=20_000)
    (poll,) = (timer for timer in news.watch.findChildren(QTimer) if not timer.isSingleShot())
    news.watch.watch_folders([tmp_path])
    news.watch.resume()
    for longer in (40_000, SELDOM_MS, SELDOM_MS):
        poll.timeout.emit()
        assert poll.interval() == longer
    (tmp_path / "new.txt").write_text("new")
    qtbot.waitUntil(lambda: bool(news.folders))
    assert poll.interval() == 20_000
    news.watch.pause()
    news.watch.poll_often()
    assert not poll.isActive()
