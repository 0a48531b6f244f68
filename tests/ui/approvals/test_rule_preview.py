"""The preview shows what rules would have done, without blocking the window."""

import time

import pytest
from PySide6.QtWidgets import QLabel, QListWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.approvals.rule_editor import RulePreview
from desktop_agent.ui.theme import Theme
from tests.parts import part
from tests.ui.ink import ink_rect


@pytest.fixture
def preview(qtbot: QtBot, theme: Theme) -> RulePreview:
    preview = RulePreview(theme)
    qtbot.addWidget(preview)
    preview.show()
    return preview


def shown(preview: RulePreview) -> tuple[str, list[str]]:
    box = part(preview, QListWidget, "ruleAllowedList")
    return box.accessibleName(), [box.item(row).text() for row in range(box.count())]


def slow(_subject: str) -> bool:
    end = time.perf_counter() + 0.01  # one judgement takes more than a slice
    while time.perf_counter() < end:
        pass
    return True


def test_the_rows_begin_where_their_heading_does(qtbot: QtBot, preview: RulePreview) -> None:
    preview.judge(["H"], lambda _subject: True)
    qtbot.waitUntil(lambda: preview.work.is_done)
    rows = part(preview, QListWidget, "ruleAllowedList")
    heading = next(label for label in preview.findChildren(QLabel) if label.parent() is rows.parent())
    assert abs(ink_rect(rows, rows.rect()).left() - ink_rect(heading, heading.rect()).left()) <= 1


def test_nothing_is_shown_before_all_are_judged_and_the_window_lives_meanwhile(
    qtbot: QtBot, preview: RulePreview
) -> None:
    preview.judge([f"c{number}" for number in range(5)], slow)
    assert not preview.work.is_done
    assert shown(preview)[1] == []
    with qtbot.waitSignal(preview.finished):
        pass
    assert shown(preview) == ("Would have been allowed · 5", ["c0", "c1", "c2", "c3", "c4"])


def test_other_rules_make_the_earlier_judgement_void(qtbot: QtBot, preview: RulePreview) -> None:
    preview.judge(["a", "b", "c"], slow)
    preview.judge(["a", "b", "c"], lambda subject: subject == "a")
    qtbot.waitUntil(lambda: preview.work.is_done)
    assert preview.verdicts == {"a": True, "b": False, "c": False}
