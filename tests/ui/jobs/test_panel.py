"""The panel shows running background commands, ends them on request, and costs nothing while hidden."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol.model import Job
from desktop_agent.ui.chat.composer.composer import Composer
from desktop_agent.ui.jobs_panel import JobRow, JobsPanel
from desktop_agent.ui.theme import Theme
from tests.parts import part

START = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.time = START + timedelta(seconds=12)

    def now(self) -> datetime:
        return self.time


def job(job_id: str, command: str = "npm run dev") -> Job:
    return Job(id=job_id, command=command, cwd=Path("/srv"), pid=7, log=Path("/srv/log"), started_at=START)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def panel(qtbot: QtBot, theme: Theme, clock: Clock) -> JobsPanel:
    panel = JobsPanel(theme, clock.now)
    qtbot.addWidget(panel)
    panel.resize(700, 300)
    return panel


def texts(row: QWidget) -> list[str]:
    return [label.text() for label in row.findChildren(QLabel)]


def button(row: JobRow, name: str) -> QPushButton:
    return part(row, QPushButton, name)


def order(panel: JobsPanel) -> list[str]:
    rows = sorted(panel.findChildren(JobRow), key=lambda row: row.y())
    return [row.job.id for row in rows if not row.isHidden()]


def test_it_is_hidden_until_it_is_wanted_and_says_so_when_it_is_empty(panel: JobsPanel) -> None:
    assert panel.isHidden()
    panel.show()
    empty = part(panel, QLabel, "jobsEmpty")
    assert empty.isVisible()
    assert empty.text().startswith("Nothing runs in the background.")


def test_a_job_shows_its_command_age_memory_and_last_line(panel: JobsPanel) -> None:
    panel.show_jobs([replace(job("a"), memory_bytes=84_000_000, last_line="ready on :5173")])
    (row,) = panel.rows
    assert texts(row) == ["npm run dev", "ready on :5173", "12 s · 84 MB"]
    assert row.accessibleName() == "npm run dev, running, 12 s · 84 MB"


def test_what_runs_stands_above_what_ended_and_the_newest_first(qtbot: QtBot, panel: JobsPanel) -> None:
    ended = replace(job("b"), state="exited", exit_code=1, ended_at=START)
    panel.show()
    panel.show_jobs([job("a"), ended, job("c")])
    qtbot.waitUntil(lambda: order(panel) == ["c", "a", "b"])
    panel.show_jobs([replace(job("a"), state="stopped", ended_at=START), ended, job("c")])
    qtbot.waitUntil(lambda: order(panel) == ["c", "b", "a"])


def test_an_ended_job_stays_with_its_exit_code_and_cannot_be_stopped(panel: JobsPanel) -> None:
    panel.show_jobs([job("a")])
    (row,) = panel.rows
    panel.show_jobs([replace(job("a"), state="exited", exit_code=2, ended_at=START + timedelta(seconds=5))])
    assert panel.rows == [row], "the same row goes on, so that the focus stays in it"
    assert texts(row)[-1] == "exit code 2 · ran 5 s"
    assert button(row, "jobStopButton").isHidden()
    assert not button(row, "jobOutputButton").isHidden()


def test_stopping_and_the_output_are_asked_for_with_their_job(panel: JobsPanel) -> None:
    panel.show_jobs([job("a"), job("b", "make watch")])
    stop = button(panel.rows[0], "jobStopButton")
    assert stop.accessibleName() == "Stop make watch"
    assert "everything it started" in stop.toolTip()
    stopped, shown = QSignalSpy(panel.stop_requested), QSignalSpy(panel.output_requested)
    stop.click()
    assert stopped.at(0) == ["b"]
    assert stop.text() == "Stopping…"
    button(panel.rows[1], "jobOutputButton").click()
    assert shown.at(0) == [job("a")]


def test_a_stopped_job_stays_in_line_with_the_others(qtbot: QtBot, panel: JobsPanel) -> None:
    panel.show()
    panel.show_jobs([job("a"), job("b", "make watch")])
    button(panel.rows[0], "jobStopButton").click()
    panel.show_jobs([job("a"), replace(job("b", "make watch"), state="stopped", ended_at=START)])
    qtbot.waitUntil(lambda: len({button(row, "jobOutputButton").geometry().right() for row in panel.rows}) == 1)


def test_ages_go_on_while_it_is_visible_and_only_then(qtbot: QtBot, panel: JobsPanel, clock: Clock) -> None:
    panel.show_jobs([job("a")])
    assert not panel.is_ticking
    panel.show()
    assert panel.is_ticking
    clock.time += timedelta(minutes=1)
    qtbot.waitUntil(lambda: "1 min" in texts(panel.rows[0]))
    panel.hide()
    assert not panel.is_ticking
    clock.time += timedelta(minutes=1)
    panel.show()
    assert "2 min" in texts(panel.rows[0])
    panel.show_jobs([replace(job("a"), state="exited", exit_code=0, ended_at=START)])
    assert not panel.is_ticking, "nothing runs any more"


def test_what_a_command_says_is_shown_sign_for_sign_and_what_cannot_be_seen_is_named(panel: JobsPanel) -> None:
    markup = replace(job("a", "echo <b>x</b>\nls"), last_line="<b>x</b>")
    panel.show_jobs([replace(job("b", "ls \u202e# mr"), last_line="\u200bready"), markup])
    plain, hidden = panel.rows
    assert texts(plain)[:2] == ["echo <b>x</b> ⏎ ls", "<b>x</b>"]
    assert all(label.textFormat() == Qt.TextFormat.PlainText for label in plain.findChildren(QLabel))
    assert texts(hidden)[:2] == ["ls ⟨U+202E⟩# mr", "⟨U+200B⟩ready"]
    assert hidden.accessibleName().startswith("ls ⟨U+202E⟩# mr, ")


def test_many_jobs_scroll_instead_of_pushing_the_conversation_away(panel: JobsPanel) -> None:
    panel.show_jobs([job(str(number)) for number in range(4)])
    height = panel.sizeHint().height()
    panel.show_jobs([job(str(number)) for number in range(40)])
    assert panel.sizeHint().height() == height


def test_it_is_used_and_left_by_keyboard(qtbot: QtBot, panel: JobsPanel) -> None:
    panel.show_jobs([job("a")])
    panel.show()
    panel.activateWindow()
    qtbot.waitUntil(panel.isActiveWindow)
    button(panel.rows[0], "jobOutputButton").setFocus()
    QTest.keyClick(panel.rows[0], Qt.Key.Key_Tab)
    assert QApplication.focusWidget() is button(panel.rows[0], "jobStopButton")
    closed = QSignalSpy(panel.closed)
    QTest.keyClick(button(panel.rows[0], "jobStopButton"), Qt.Key.Key_Escape)
    assert closed.count() == 1


@pytest.mark.parametrize("width", [500, 639, 1024, 1600])
def test_it_is_in_line_with_the_message_field(panel: JobsPanel, theme: Theme, qtbot: QtBot, width: int) -> None:
    composer = Composer(theme)
    qtbot.addWidget(composer)
    for each in (panel, composer):
        each.resize(width, each.height())
        each.show()
    panel.show_jobs([job("a")])
    QApplication.processEvents()
    row, send = panel.rows[0], composer.findChildren(QPushButton, "sendButton")[0]
    stop = button(row, "jobStopButton")
    stop_right = stop.mapTo(panel, stop.rect().topRight()).x()
    field_right = send.mapTo(composer, send.rect().topRight()).x() + 12
    assert abs(stop_right - field_right) <= 1
    assert abs(row.mapTo(panel, row.rect().topLeft()).x() - (width - 1 - field_right)) <= 1
