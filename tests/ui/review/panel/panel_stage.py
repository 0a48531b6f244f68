"""Helpers of the review panel's tests, with a session and git in memory."""

from collections.abc import Callable

from PySide6.QtCore import QPoint
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QListView, QMenu, QPushButton

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import CommittedFile, FileChange, FileDiff
from desktop_agent.core.protocol.ops import MarkReviewed, Op
from desktop_agent.core.system.files import digest_of
from desktop_agent.ui.review.changed_file_list import ChangeModel
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff_pane import DiffPane
from desktop_agent.ui.review.diff_source import GitState
from desktop_agent.ui.review.review_panel import ReviewPanel
from tests.core.diff.changes import change_of
from tests.parts import part
from tests.ui.review.stage import Hold, Session


class Asked(list[Op]):
    hear: Callable[[Op], None] | None = None

    def submit(self, op: Op) -> None:
        self.append(op)
        if self.hear is not None:
            self.hear(op)


def files(panel: ReviewPanel) -> list[str]:
    model = part(panel, QListView, "changeList").model()
    return [model.data(model.index(row, 0)) for row in range(model.rowCount())]


def diff_view(panel: ReviewPanel) -> DiffView:
    return part(panel, DiffView, "diffView")


def shown_diff(panel: ReviewPanel) -> FileDiff:
    diff = diff_view(panel).document.diff
    assert diff is not None
    return diff


def button(panel: ReviewPanel, name: str) -> QPushButton:
    return part(panel, QPushButton, name)


def choose(panel: ReviewPanel, label: str) -> None:
    picker = part(panel, QComboBox, "baselinePicker")
    index = next(index for index in range(picker.count()) if picker.itemText(index).startswith(label))
    picker.setCurrentIndex(index)
    picker.activated.emit(index)


def show_call(panel: ReviewPanel, call_id: str) -> bool:
    return panel.content is not None and panel.content.show_call(call_id)


def go_on(panel: ReviewPanel, *, backwards: bool = False) -> None:
    assert panel.content
    panel.content.go_to_undecided(backwards=backwards)


def texts(panel: ReviewPanel) -> set[str]:
    return {label.text() for label in panel.findChildren(QLabel) if label.isVisible()}


def menu_action(panel: ReviewPanel, text: str) -> QAction:
    part(panel, QListView, "changeList").customContextMenuRequested.emit(QPoint(20, 10))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    action = next(action for action in menu.actions() if action.text() == text)
    menu.close()
    return action


class Git:
    def __init__(self) -> None:
        self.state = GitState("", "main", ("other",))
        self.contents = {"one": b"1\n", "two": b"2\n"}
        self.folders_asked: list[str] = []
        self.branches_asked: list[str] = []
        self.error: AgentError | None = None
        self.is_slow = False

    async def look(self, folder: str) -> GitState:
        self.folders_asked.append(folder)
        return self.state

    async def is_unpushed_tip(self, folder: str, commit: str) -> bool:
        return False

    async def changes(self, folder: str, branch: str) -> tuple[FileChange, ...]:
        self.branches_asked.append(branch)
        if self.is_slow:
            await Hold()
        change = change_of("git:a.py", "a.py", self.contents["one"], self.contents["two"], author="person")
        return () if self.contents["one"] == self.contents["two"] else (change,)

    async def diff(self, folder: str, change: FileChange) -> FileDiff:
        return diff_change(change, self.contents["one"], self.contents["two"])

    async def versions(self, folder: str, change: FileChange) -> tuple[bytes | None, bytes | None]:
        return self.contents["one"], self.contents["two"]

    async def committed(self, folder: str, change: FileChange) -> CommittedFile:
        if self.error:
            raise self.error
        if self.is_slow:
            await Hold()
        return CommittedFile(path="a.py", content=self.contents["one"], seen=digest_of(self.contents["two"]))


def pane(panel: ReviewPanel) -> DiffPane:
    return part(panel, DiffPane)


def marks(panel: ReviewPanel) -> list[str]:
    model = part(panel, QListView, "changeList").model()
    assert isinstance(model, ChangeModel)
    return [file.mark for file in model.rows]


def summary(panel: ReviewPanel) -> str:
    return part(panel, QLabel, "reviewSummary").text()


def carry_out(panel: ReviewPanel, session: Session, asked: Asked) -> None:
    """Mark hunks and files as kept, as the session would."""

    def hear(op: Op) -> None:
        if isinstance(op, MarkReviewed):
            session.transcript.apply(ev.ReviewMarked(path=op.path, hunks=op.hunks, state=op.state))
            panel.refresh()

    asked.hear = hear
    asked.clear()
