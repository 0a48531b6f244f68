"""The inspector asks the shown session after changes, and never while it is closed."""

from collections.abc import Generator

import pytest
from PySide6.QtWidgets import QDialog
from pytestqt.qtbot import QtBot

from desktop_agent.app import Window, build
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ContextUse, Pin
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.widgets.context_meter import ContextMeter
from desktop_agent.ui.window.session_handle import SessionHandle
from tests.ui.chat.stage import MODEL
from tests.ui.context.test_inspector import REPORT


@pytest.fixture
def window(qtbot: QtBot) -> Generator[Window]:
    window = build(["--demo"])
    window.main_window.show()
    yield window
    window.panels.spawner.cancel_all()  # nothing runs the loop that would start it
    window.main_window.let_close()
    window.main_window.deleteLater()
    window.deleteLater()


class Shown:
    def __init__(self, window: Window) -> None:
        self.asked: list[ops.Op] = []
        self.handle = SessionHandle(Transcript(), self.submit)
        opened = ev.SessionOpened(session_id="s", workspace="/srv", model=MODEL, approval="on_write", app_version="1")
        self.handle.deliver(opened)
        window.panels.session.show(self.handle)

    def submit(self, op: ops.Op) -> None:
        self.asked.append(op)


def inspectors(window: Window) -> list[QDialog]:
    return [dialog for dialog in window.main_window.findChildren(QDialog, "contextInspector") if dialog.isVisible()]


def test_a_click_on_the_meter_opens_the_inspector_which_asks_what_there_is(window: Window) -> None:
    shown = Shown(window)
    shown.handle.deliver(ev.ContextMeasured(use=ContextUse(tokens=68_000, window=200_000, source="reported")))
    [meter] = window.main_window.findChildren(ContextMeter)
    assert meter.text() == "ctx 34 %"
    meter.click()
    assert len(inspectors(window)) == 1
    assert shown.asked == [ops.InspectContext()]
    shown.handle.deliver(ev.ContextInspected(report=REPORT))
    shown.handle.deliver(ev.Pinned(pin=Pin(id="p", text="x")))
    assert shown.asked == [ops.InspectContext()] * 2, "what changed is asked for"
    inspectors(window)[0].close()
    shown.handle.deliver(ev.Unpinned(pin_id="p"))
    assert len(shown.asked) == 2


def test_the_actions_reach_the_session(window: Window) -> None:
    shown = Shown(window)
    actions = window.main_window.actions_
    assert not actions.compact.isEnabled(), "there is nothing to summarise yet"
    for turn in (1, 2):
        shown.handle.deliver(ev.TurnStarted(turn=turn, model=MODEL))
        shown.handle.deliver(ev.TurnEnded(turn=turn, reason="completed", requests=1, duration_s=0.1))
    actions.compact.trigger()
    assert shown.asked == [ops.Compact()]
    actions.inspect_context.trigger()
    assert len(inspectors(window)) == 1


def test_a_summary_that_is_being_made_can_be_stopped(window: Window) -> None:
    shown = Shown(window)
    progress = ev.ToolProgress(turn=1, call_id="", name="compact", message="Summarising")
    shown.handle.deliver(progress)
    actions = window.main_window.actions_
    assert actions.stop.isEnabled()
    actions.stop.trigger()
    assert shown.asked == [ops.Interrupt()]
