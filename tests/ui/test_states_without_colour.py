"""Without colours, all states still look different."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import combinations, product
from pathlib import Path
from typing import get_args

from msgspec.structs import replace
from PySide6.QtCore import QRect
from PySide6.QtGui import qGray
from PySide6.QtWidgets import QListView, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol.model import Denied, Job, SessionState, SessionSummary, ToolResult
from desktop_agent.core.system.git.repository import FileState, FileStatus
from desktop_agent.core.system.workspace import FolderListing, FolderMark
from desktop_agent.ui.chat.entries.tool_call import ToolLine
from desktop_agent.ui.files.file_rows import FileRows
from desktop_agent.ui.files.file_tree_model import LETTERS, FileMarks, FileTreeModel, edits_between
from desktop_agent.ui.jobs_panel import JobRow
from desktop_agent.ui.review.changed_file_list import FileList
from desktop_agent.ui.review.changed_files import Mark, group_by_file
from desktop_agent.ui.sessions.session_panel import SessionPanel
from desktop_agent.ui.theme import Theme
from tests.parts import part
from tests.ui.chat.stage import Stage, call
from tests.ui.files.rows import row_of
from tests.ui.review.stage import Session

NOW = datetime(2026, 11, 20, 15, 0, tzinfo=UTC)
LEAST_PIXELS = 5

Shape = frozenset[tuple[int, int]]
"""The pixels that differ from the background by more than half of the strongest one."""


def shape_of(widget: QWidget, area: QRect | None = None) -> Shape:
    picture = widget.grab(area or widget.rect()).toImage()
    greys = {place: qGray(picture.pixel(*place)) for place in product(range(picture.width()), range(picture.height()))}
    [(ground, _)] = Counter(greys.values()).most_common(1)
    strengths = {place: abs(grey - ground) for place, grey in greys.items()}
    strongest = max(strengths.values())
    return frozenset(place for place, strength in strengths.items() if strength > strongest / 2)


def alike(shapes: Mapping[str, Shape]) -> list[tuple[str, str]]:
    pairs = combinations(shapes, 2)
    return [(one, other) for one, other in pairs if len(shapes[one] ^ shapes[other]) < LEAST_PIXELS]


def test_shapes_without_colour_are_compared(qtbot: QtBot) -> None:
    shapes: dict[str, Shape] = {}
    for colour in ("red", "green"):
        mark = QWidget()
        qtbot.addWidget(mark)
        mark.resize(20, 20)
        mark.setStyleSheet(f"background: white; border-right: 8px solid {colour}")
        shapes[colour] = shape_of(mark)
    assert alike(shapes) == [("red", "green")]


def test_background_commands(theme: Theme, qtbot: QtBot) -> None:
    running = Job(id="1", command="make", cwd=Path("/srv"), pid=7, log=Path("/srv/log"), started_at=NOW)
    states = {
        "runs": running,
        "ended well": replace(running, state="exited", exit_code=0),
        "failed": replace(running, state="exited", exit_code=1),
    }
    shapes: dict[str, Shape] = {}
    for name, job in states.items():
        row = JobRow(theme, job, NOW, stop=lambda _: None, show_output=lambda _: None)
        qtbot.addWidget(row)
        row.resize(500, row.height())
        row.show()
        mark = next(child for child in row.findChildren(QWidget) if child.toolTip() and child.width() < row.height())
        shapes[name] = shape_of(mark)
    assert alike(shapes) == []


def test_sessions(theme: Theme, qtbot: QtBot) -> None:
    panel = SessionPanel(theme)
    qtbot.addWidget(panel)
    panel.resize(240, 300)
    panel.set_workspace("/here")
    panel.show()
    rows = part(panel, QListView, "sessionList")
    shapes: dict[str, Shape] = {}
    for state in get_args(SessionState):
        session = SessionSummary(
            id="a",
            title="Fix it",
            workspace="/here",
            created_at=NOW,
            updated_at=NOW,
            active_at=NOW,
            state=state,
            turns=3,
            size_bytes=9,
        )
        panel.set_sessions([session])
        shapes[state] = shape_of(rows.viewport())
    assert alike(shapes) == []


def test_files_and_folders(theme: Theme, qtbot: QtBot) -> None:
    folders: dict[str, FolderMark] = {mark: mark for mark in get_args(FolderMark)}
    states: list[FileState] = list(LETTERS)
    model = FileTreeModel()
    rows = FileRows(model, theme)
    qtbot.addWidget(rows)
    rows.resize(240, 500)
    model.reset()
    top = model.find("")
    assert top is not None
    listing = FolderListing(list(folders), [f"{state}.py" for state in states])
    model.put(top, listing, edits_between(top, listing))
    model.set_marks(FileMarks({f"{state}.py": FileStatus(state=state) for state in states}, folders, []))
    rows.show()

    def mark_of(path: str) -> Shape:
        area = rows.visualRect(model.index(row_of(model, path), 0))
        return shape_of(rows.viewport(), area.adjusted(area.width() - 30, 0, 0, 0))

    assert alike({state: mark_of(f"{state}.py") for state in states}) == []
    assert alike({folder: mark_of(folder) for folder in folders}) == []


def test_decisions_about_files(theme: Theme, qtbot: QtBot, session: Session) -> None:
    session.change(1, "a", "a.py", "1\n", "2\n")
    (file,) = group_by_file(session.transcript.changes.values())
    shapes: dict[str, Shape] = {}
    for mark in get_args(Mark):
        changes = FileList(theme)
        qtbot.addWidget(changes)
        changes.resize(300, 40)
        changes.set_files([file._replace(mark=mark)])
        changes.show()
        shapes[mark] = shape_of(changes.viewport())
    assert alike(shapes) == []


def test_calls(theme: Theme, qtbot: QtBot) -> None:
    stage = Stage(theme, qtbot)
    running = call("run_terminal_cmd", "ls")
    calls = {
        "done": call("run_terminal_cmd", "ls", result=ToolResult(content="{}")),
        "failed": call("run_terminal_cmd", "ls", result=ToolResult(content="{}", is_error=True)),
        "refused": call("run_terminal_cmd", "ls", decision=Denied()),
        "running": running,
    }
    shapes: dict[str, Shape] = {}
    for name, entry in calls.items():
        stage.show(entry, is_running=entry is running)
        line = part(stage.widget(0), ToolLine)
        shapes[name] = shape_of(line, QRect(0, 0, 24, line.height()))
    assert alike(shapes) == []
