"""“What the model sees” shows its parts, and emits the user's edits of summary and pins."""

from datetime import UTC, datetime
from typing import get_args

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QSignalSpy
from PySide6.QtWidgets import QLabel, QLineEdit, QPlainTextEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import (
    CacheMiss,
    CacheMissReason,
    ContextReport,
    ContextSection,
    ContextUse,
    Pin,
    Summary,
)
from desktop_agent.ui.context_inspector import ContextInspector, SectionList
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.buttons import Switch
from desktop_agent.ui.widgets.context_meter import ContextMeter
from desktop_agent.ui.wording import counted

SUMMARY = Summary(goals=("ship it",), todos=("test it",))
REPORT = ContextReport(
    sections=(
        ContextSection(kind="system", tokens=900, text="You are careful."),
        ContextSection(kind="guidance", name="src/AGENTS.md", tokens=40, text="Use tabs."),
        ContextSection(kind="summary", tokens=60, text="rendered"),
        ContextSection(kind="conversation", tokens=61_000, text="Person:\nhello"),
    ),
    use=ContextUse(tokens=62_000, window=200_000, source="reported"),
    target=180_000,
    compaction_id="c",
    summary=SUMMARY,
)
PINS = (Pin(id="a", text="in French"), Pin(id="b", text="soon", expires_at=datetime(2026, 11, 23, tzinfo=UTC)))


class Shown:
    def __init__(self, theme: Theme, qtbot: QtBot) -> None:
        self.dialog = ContextInspector(theme)
        qtbot.addWidget(self.dialog)
        self.spy = QSignalSpy(self.dialog.op_requested)
        self.dialog.show()
        self.dialog.show_report(REPORT, PINS, is_working=False)

    @property
    def asked(self) -> list[ops.Op]:
        return [self.spy.at(index)[0] for index in range(self.spy.count())]

    @property
    def text(self) -> QPlainTextEdit:
        return self.dialog.findChildren(QPlainTextEdit, "contextText")[0]

    def button(self, name: str) -> QPushButton:
        return self.dialog.findChildren(QPushButton, name)[0]

    def field(self, name: str) -> QLineEdit:
        return self.dialog.findChildren(QLineEdit, name)[0]


@pytest.fixture
def shown(theme: Theme, qtbot: QtBot) -> Shown:
    return Shown(theme, qtbot)


def test_the_largest_part_is_shown_first_and_each_says_what_it_takes(shown: Shown) -> None:
    assert shown.text.toPlainText() == "Person:\nhello"
    [parts] = shown.dialog.findChildren(SectionList)
    assert [parts.item(row).text() for row in range(parts.count())] == [
        "System prompt",
        "src/AGENTS.md",
        "Summary",
        "Conversation",
    ]
    [use] = shown.dialog.findChildren(QLabel, "contextUse")
    assert "62\u202f000 of 200\u202f000 tokens, 31 %" in use.text()
    assert "180\u202f000" in use.text()


@pytest.mark.parametrize("reason", get_args(CacheMissReason))
def test_what_was_not_in_the_cache_is_said_until_it_is_over(shown: Shown, reason: CacheMissReason) -> None:
    [missed] = shown.dialog.findChildren(QLabel, "contextCacheMiss")
    assert missed.isHidden()
    shown.dialog.show_cache_miss(CacheMiss(reason=reason))
    assert missed.isVisible()
    assert missed.text().startswith("The last turn was not in the provider's cache: ")
    shown.dialog.show_cache_miss(None)
    assert missed.isHidden()


def test_only_the_summary_can_be_written_and_it_is_saved_as_written(shown: Shown) -> None:
    assert shown.text.isReadOnly()
    shown.dialog.show_part("summary")
    assert not shown.text.isReadOnly()
    assert shown.text.toPlainText() == "## Goals\n- ship it\n\n## To do\n- test it"
    assert not shown.button("saveSummaryButton").isEnabled()
    shown.text.appendPlainText("- and document it")
    shown.button("saveSummaryButton").click()
    assert shown.asked == [ops.EditSummary(summary=Summary(goals=("ship it",), todos=("test it", "and document it")))]


def test_what_is_no_summary_is_not_saved_and_the_text_stays_also_when_something_happens(shown: Shown) -> None:
    shown.dialog.show_part("summary")
    shown.text.selectAll()
    shown.text.insertPlainText("whatever")
    shown.button("saveSummaryButton").click()
    assert shown.asked == []
    shown.dialog.show_report(REPORT, PINS, is_working=False)
    assert shown.text.toPlainText() == "whatever"


def test_the_summary_is_taken_back_and_older_turns_are_summarised_unless_the_agent_works(shown: Shown) -> None:
    undo, compact = shown.button("undoSummaryButton"), shown.button("compactButton")
    shown.dialog.show_part("summary")
    undo.click()
    shown.field("compactFocus").setText(" the tests ")
    compact.click()
    assert shown.asked == [ops.UndoCompaction(), ops.Compact(focus="the tests")]
    shown.dialog.show_report(REPORT, PINS, is_working=True)
    assert not compact.isEnabled()
    assert not undo.isEnabled()


def test_pins_are_added_for_a_while_and_removed(shown: Shown) -> None:
    shown.field("pinEdit").setText("never push")
    shown.button("pinButton").click()
    shown.button("unpin-b").click()
    assert shown.asked == [ops.AddPin(text="never push"), ops.RemovePin(pin_id="b")]
    assert shown.field("pinEdit").text() == ""


def test_long_pins_and_many_leave_room_for_the_rest(shown: Shown) -> None:
    height = shown.dialog.minimumSizeHint().height()
    pins = tuple(Pin(id=str(number), text=f"{number} " + "long\n" * 1_500) for number in range(30))
    shown.dialog.show_report(REPORT, pins, is_working=False)
    assert shown.dialog.minimumSizeHint().height() < height + 120
    assert shown.dialog.minimumSizeHint().width() < 900


def test_the_name_of_a_file_is_shown_as_it_is(shown: Shown) -> None:
    part = ContextSection(kind="guidance", name="<b>x</b>/AGENTS.md", tokens=90_000, text="Use tabs.")
    shown.dialog.show_report(replace(REPORT, sections=(part,)), (), is_working=False)
    named = [label for label in shown.dialog.findChildren(QLabel) if "<b>x</b>" in label.text()]
    assert named
    assert all(label.textFormat() == Qt.TextFormat.PlainText for label in named)


def test_the_tools_say_what_is_left_to_a_search(shown: Shown) -> None:
    tools = ContextSection(kind="tools", tokens=4_000, text="read_file")
    names = tuple(f"tracker__find_{number}" for number in range(1_200))
    report = replace(REPORT, sections=(tools, *REPORT.sections), deferred_tools=names, deferred_tokens=140_000)
    shown.dialog.show_report(report, PINS, is_working=False)
    shown.dialog.show_part("tools")

    words = " ".join(label.text() for label in shown.dialog.findChildren(QLabel))
    assert f"{counted(1_200)} more tools of MCP servers (about {counted(140_000)} tokens) are not sent" in words


def test_the_meter_says_what_servers_tools_take_and_how_many_are_left_out(theme: Theme, qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    meter = ContextMeter(theme, parent)
    meter.show_use(replace(REPORT.use, server_tool_tokens=240, deferred_tools=998))

    assert "About 240 of them are for tools of MCP servers." in meter.toolTip()
    assert "998 tools of MCP servers are not sent: the agent searches for them." in meter.accessibleDescription()

    meter.show_use(REPORT.use)
    assert "MCP" not in meter.toolTip()


def test_a_file_of_instructions_has_a_switch_which_says_what_is_wanted(shown: Shown) -> None:
    [switch] = shown.dialog.findChildren(Switch, "guidanceSwitch")
    assert switch.isHidden()
    shown.dialog.show_part("guidance")
    assert switch.isVisible()
    assert switch.isChecked()
    assert switch.accessibleName() == "Send src/AGENTS.md to the model"
    switch.click()
    assert shown.asked == [ops.SwitchGuidance(path="src/AGENTS.md", is_on=False), ops.InspectContext()]


def test_what_is_switched_off_is_listed_with_its_size_and_said_to_be_off(shown: Shown) -> None:
    part = ContextSection(kind="guidance", name="src/AGENTS.md", tokens=40, text="Use tabs.", is_off=True)
    shown.dialog.show_report(replace(REPORT, sections=(part, *REPORT.sections[2:])), PINS, is_working=True)
    shown.dialog.show_part("guidance")
    [switch] = shown.dialog.findChildren(Switch, "guidanceSwitch")
    assert not switch.isChecked()
    assert switch.isEnabled()
    [parts] = shown.dialog.findChildren(SectionList)
    assert parts.item(0).data(Qt.ItemDataRole.AccessibleTextRole) == "src/AGENTS.md, 40 tokens, not sent"
    assert shown.text.toPlainText() == "Use tabs."
    switch.click()
    assert shown.asked[0] == ops.SwitchGuidance(path="src/AGENTS.md", is_on=True)
