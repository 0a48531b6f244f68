"""What language servers say of changed files: at the file, and behind its lines."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QListView
from pytestqt.qtbot import QtBot

from desktop_agent.core.diff.rows import RowMode
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import Diagnostic, DiagnosticSeverity, FileDiagnostics
from desktop_agent.ui.review.changed_file_list import FileList
from desktop_agent.ui.review.diff.diff_review import LineProblems
from desktop_agent.ui.review.review_panel import ReviewPanel
from tests.parts import part
from tests.ui.review.panel.panel_stage import choose, diff_view
from tests.ui.review.stage import Session

NEW = "one\nTWO!\n"


def problem(line: int, severity: DiagnosticSeverity, message: str, *, is_new: bool = True) -> Diagnostic:
    return Diagnostic(line=line, last_line=line, severity=severity, message=message, code="E1", is_new=is_new)


def find(
    panel: ReviewPanel, session: Session, *found: Diagnostic, path: str = "src/pages.py", server: str = "a"
) -> None:
    """Let a server say this of the file as it is now."""
    changes = [record.change for record in session.transcript.changes.values() if record.change.path == path]
    assert changes[-1].after is not None
    file = FileDiagnostics(path=path, server=server, digest=changes[-1].after.digest, found=found)
    session.transcript.apply(ev.DiagnosticsFound(turn=2, call_id="call-3", files=(file,)))
    panel.refresh()


def words(panel: ReviewPanel, row: int = 0) -> str:
    index = part(panel, QListView, "changeList").model().index(row, 0)
    return str(index.data(Qt.ItemDataRole.AccessibleTextRole))


def test_the_file_says_how_many_there_are(qtbot: QtBot, reviewed: ReviewPanel, session: Session) -> None:
    find(reviewed, session, problem(1, "error", "no such name"), problem(2, "warning", "unused"))
    find(reviewed, session, problem(2, "error", "wrong type"), server="b")
    qtbot.waitUntil(lambda: "2 errors, 1 warning" in words(reviewed))
    find(reviewed, session)
    find(reviewed, session, server="b")
    qtbot.waitUntil(lambda: "error" not in words(reviewed))


@pytest.mark.parametrize("mode", ["unified", "side_by_side"])
def test_a_line_says_what_is_wrong(qtbot: QtBot, reviewed: ReviewPanel, session: Session, mode: RowMode) -> None:
    reviewed.resize(900, 700)
    reviewed.set_diff_mode(mode)
    view = diff_view(reviewed)
    before = view.viewport().grab().toImage()
    find(reviewed, session, problem(2, "error", "no such name"), problem(2, "warning", "<unused>"))
    qtbot.waitUntil(lambda: view.viewport().grab().toImage() != before)
    row = view.document.rows.find("new", 1)
    view.navigation.go_to(row)
    qtbot.waitUntil(lambda: "Error: no such name. Warning: <unused>" in view.accessibleDescription())
    rect = view.scroller.row_rect(row)
    overlay = next(each for each in view.overlays if isinstance(each, LineProblems))
    overlay.hover(QPoint(rect.right() - 40, rect.center().y()))
    assert "Error: no such name [E1]\nWarning: &lt;unused&gt; [E1]" in overlay.tool_tip()
    overlay.hover(QPoint(2, rect.center().y()))
    assert overlay.tool_tip() == ""


def test_the_old_side_says_nothing(qtbot: QtBot, reviewed: ReviewPanel, session: Session) -> None:
    reviewed.set_diff_mode("unified")
    find(reviewed, session, problem(2, "error", "no such name"))
    qtbot.waitUntil(lambda: "1 error" in words(reviewed))
    view = diff_view(reviewed)
    view.navigation.go_to(view.document.rows.find("old", 1))
    assert "no such name" not in view.accessibleDescription()


def test_what_was_said_of_an_earlier_content_is_not_shown(
    qtbot: QtBot, reviewed: ReviewPanel, session: Session
) -> None:
    find(reviewed, session, problem(1, "error", "no such name"))
    qtbot.waitUntil(lambda: "1 error" in words(reviewed))
    session.change(3, "call-9", "src/pages.py", NEW, "one\nTWO!!\n")
    choose(reviewed, "This session")
    assert "error" not in words(reviewed)


def test_a_switch_to_another_file_takes_the_marks_away(qtbot: QtBot, reviewed: ReviewPanel, session: Session) -> None:
    choose(reviewed, "This session")
    find(reviewed, session, problem(1, "error", "no such name"))
    qtbot.waitUntil(lambda: "1 error" in words(reviewed))
    part(reviewed, FileList, "changeList").select("README.md")
    view = diff_view(reviewed)
    assert view.document.diff is not None
    assert view.document.diff.path == "README.md"
    view.navigation.go_to(view.document.rows.find("new", 0))
    assert "no such name" not in view.accessibleDescription()
