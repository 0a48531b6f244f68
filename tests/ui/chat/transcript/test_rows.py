"""Rows after patches equal the rows of the entries; layout, selection, copying and actions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import TextBlock, ToolCall, ToolResult
from desktop_agent.core.transcript import RETRYING, Transcript
from desktop_agent.ui.chat.markdown.parser import LINE_BREAK, utf16_slice
from desktop_agent.ui.chat.text import column
from desktop_agent.ui.chat.transcript.mouse_and_keyboard import Unit, unit_around
from desktop_agent.ui.chat.transcript.row_layout import EntryRows
from desktop_agent.ui.theme import Theme
from tests.ui.chat.stage import MODEL, NOW, Stage, answer, call, prompt, record


def make_event(what: str, number: int) -> ev.Event:
    call_id = f"c{number}"
    match what:
        case "prompt":
            return ev.PromptSubmitted(turn=number, prompt_id="p", text="hello", at=NOW)
        case "start":
            return ev.TurnStarted(turn=number, model=MODEL)
        case "end":
            return ev.TurnEnded(turn=number, reason="interrupted", requests=1, duration_s=1)
        case "text":
            return ev.TextDelta(turn=1, text="some text ")
        case "thinking":
            return ev.ThinkingDelta(turn=1, text="hm ")
        case "done":
            content = (TextBlock(text="some text " * number),)
            return ev.MessageDone(turn=1, message_id="m", model=MODEL, content=content, stop_reason="end_turn")
        case "call":
            return ev.ToolCallStarted(
                turn=1,
                call=ToolCall(id=call_id, name="grep", arguments={}),
                title="x",
                source="workspace",
                capabilities=(),
                is_read_only=True,
            )
        case "output":
            return ev.ToolOutputDelta(turn=1, call_id=call_id, text="line\n")
        case "finish":
            result = ToolResult(content="ok")
            return ev.ToolCallFinished(turn=1, call_id=call_id, state="completed", result=result, duration_s=1)
        case _:
            return ev.Notice(level="warning", code=RETRYING if number % 2 else "other", title="Notice")


KINDS = ["prompt", "start", "end", "text", "text", "thinking", "done", "call", "output", "finish", "notice"]
EVENTS = st.lists(st.builds(make_event, st.sampled_from(KINDS), st.integers(0, 3)), max_size=60)


@given(EVENTS)
def test_patched_rows_are_those_of_a_reset(events: list[ev.Event]) -> None:
    transcript, rows = Transcript(), EntryRows()
    gone: list[object] = []
    for event in events:
        gone += rows.apply(transcript.entries, transcript.apply(event))

    assert [rows[index].entry for index in range(len(rows))] == transcript.entries
    assert all(rows[index].entry is entry for index, entry in enumerate(transcript.entries))
    assert [rows[index].index for index in range(len(rows))] == list(range(len(rows)))
    assert len(rows.heights) == len(rows)
    assert not any(rows[index] in gone for index in range(len(rows)))


@pytest.mark.parametrize(
    ("at", "unit", "found"),
    [
        (0, "word", "one"),
        (2, "word", "one"),
        (3, "word", " "),
        (4, "word", "two_2"),
        (9, "word", "-"),
        (10, "word", "😀"),
        (13, "word", "end"),
        (15, "word", "end"),
        (16, "word", "next"),
        (5, "line", "one two_2-😀end"),
        (18, "line", "next"),
    ],
)
def test_the_unit_around_a_position(at: int, unit: Unit, found: str) -> None:
    text = f"one two_2-😀end{LINE_BREAK}next"
    start, end = unit_around(text, at, unit)
    assert utf16_slice(text, start, end) == found


def test_an_empty_text_has_an_empty_unit() -> None:
    assert unit_around("", 0, "word") == (0, 0)
    assert unit_around("", 0, "line") == (0, 0)


@pytest.fixture
def shown(stage: Stage) -> Stage:
    stage.show(prompt("asked"), answer("first **bold** answer"), answer("last answer"))
    return stage


def test_the_last_answer_is_quoted_from_anywhere_but_what_is_selected_first(shown: Stage) -> None:
    quoted = record(shown.view.entry_actions.quote_requested)
    shown.view.messages.quote()
    shown.drag(shown.point_of(1, "bold"), shown.point_of(1, "bold", at_end=True))
    shown.view.messages.quote()
    assert quoted == [("last answer",), ("bold",)]


def test_tab_leads_to_an_answer_which_keys_copy_and_quote(shown: Stage) -> None:
    quoted = record(shown.view.entry_actions.quote_requested)
    shown.view.setFocus()
    while shown.window.focusWidget() is not shown.widget(1):
        shown.key(Qt.Key.Key_Tab, shown.window.focusWidget())
    shown.key(QKeySequence.StandardKey.Copy, shown.window.focusWidget())
    assert QGuiApplication.clipboard().text() == "first **bold** answer"
    shown.view.messages.quote()
    assert quoted == [("first **bold** answer",)]


def test_the_menu_of_a_message_copies_and_quotes_it(shown: Stage) -> None:
    quoted = record(shown.view.entry_actions.quote_requested)
    menu = QMenu(shown.window)
    shown.view.messages.add_actions(menu, shown.point_of(1, "first") + QPoint(2, 0))
    offered = {action.text(): action for action in menu.actions()}
    offered["Quote message"].trigger()
    offered["Copy message"].trigger()
    assert quoted == [("first **bold** answer",)]
    assert QGuiApplication.clipboard().text() == "first **bold** answer"


@pytest.mark.parametrize("height", [90, 120, 600])
def test_a_jump_comes_to_an_end_without_any_time_for_it(
    theme: Theme, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, height: int
) -> None:
    stage = Stage(theme, qtbot, height=height)
    stage.show(*(call(call_id=f"call {number}") for number in range(200)))
    monkeypatch.setattr(column, "SLICE_S", 0.0)
    view = stage.view
    for share in (0.1, 0.5, 0.8):
        view.verticalScrollBar().setValue(int(share * view.verticalScrollBar().maximum()))
        view.row_layout.lay_out_gently()
        qtbot.waitUntil(lambda: not view.row_layout.is_gentle)
        edges = [
            (view.row_layout.reading.row_top(row), view.row_layout.reading.row_top(row) + view.rows.heights[row.index])
            for row in view.row_layout.widgets.live
        ]
        assert min(edges)[0] <= view.row_layout.top_edge
        assert max(edges)[1] >= view.row_layout.top_edge + view.viewport().height()
