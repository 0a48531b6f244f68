"""The composer: a message is sent once, kept until then, and never cut."""

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QFont, QFontDatabase, QInputMethodEvent, QKeySequence, QMouseEvent, QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol.model import ApprovalPolicy, CacheMiss, ContextUse, ModelRef, Usage
from desktop_agent.ui.chat.composer.composer import QueueCard
from desktop_agent.ui.chat.composer.message_edit import PromptHistory
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.buttons import PickerButton
from desktop_agent.ui.widgets.context_meter import ContextMeter
from desktop_agent.ui.window.mode_pickers import ModePickers
from tests.ui.chat.composer.desk import ComposerDesk
from tests.ui.chat.stage import click, record, type_text

USE = ContextUse(tokens=68_000, window=200_000, source="reported")
PAID = Usage(input_tokens=300, output_tokens=1_204, cache_read_tokens=9_700, cost_usd=0.42)
LAST = Usage(input_tokens=100, output_tokens=20, cost_usd=0.03)


class Desk(ComposerDesk):
    def __init__(self, theme: Theme, qtbot: QtBot) -> None:
        super().__init__(theme, qtbot, 600, 500)

    def child(self, name: str) -> QWidget:
        return self.composer.findChildren(QWidget, name)[0]

    def buttons(self) -> list[str]:
        found = self.composer.findChildren(QPushButton)
        return [button.text() for button in found if button.isVisible() and button is not self.composer.attach]


@pytest.fixture
def desk(theme: Theme, qtbot: QtBot) -> Desk:
    return Desk(theme, qtbot)


class TestWriting:
    @pytest.mark.parametrize("is_by_key", [True, False])
    def test_enter_or_the_button_sends_and_empties_the_field(self, desk: Desk, is_by_key: bool) -> None:
        type_text(desk.edit, "  fix it ")
        desk.key(Qt.Key.Key_Return) if is_by_key else click(desk.child("sendButton"))
        assert desk.sent == [("fix it",)]
        assert desk.composer.text() == ""
        assert desk.edit.hasFocus(), "a click leaves the keyboard in the field"

    def test_nothing_is_not_sent_and_shift_enter_breaks_the_line(self, desk: Desk) -> None:
        desk.key(Qt.Key.Key_Return)
        type_text(desk.edit, "  ")
        desk.key(Qt.Key.Key_Enter)
        assert not desk.child("sendButton").isEnabled()
        desk.composer.set_text("one")
        desk.key(Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
        type_text(desk.edit, "two")
        assert (desk.composer.text(), desk.sent) == ("one\ntwo", [])

    def test_an_input_method_composes_before_anything_is_sent(self, desk: Desk) -> None:
        assert desk.edit.placeholderText()
        QApplication.sendEvent(desk.edit, QInputMethodEvent("にほん", []))
        desk.composer.set_working(is_working=True)
        assert desk.edit.placeholderText() == "", "it would be painted across"
        desk.key(Qt.Key.Key_Return)
        desk.key(Qt.Key.Key_Up)
        assert (desk.sent, desk.composer.text()) == ([], "")

        commit = QInputMethodEvent()
        commit.setCommitString("日本")
        QApplication.sendEvent(desk.edit, commit)
        assert desk.edit.placeholderText() == WORKING
        desk.key(Qt.Key.Key_Return)
        assert desk.sent == [("日本",)]

    def test_ctrl_enter_sends_what_is_written_and_does_nothing_else_when_there_is_nothing(self, desk: Desk) -> None:
        shortcut = QShortcut(QKeySequence("Ctrl+Return"), desk.window)
        elsewhere = record(shortcut.activated)
        desk.window.activateWindow()
        desk.qtbot.waitUntil(desk.window.isActiveWindow)
        desk.key(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        type_text(desk.edit, "text")
        desk.key(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        desk.key(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        assert desk.sent == [("text",)]
        assert elsewhere == []


class TestHistory:
    @pytest.fixture(autouse=True)
    def earlier_prompts(self, desk: Desk) -> None:
        desk.composer.edit.history = PromptHistory(["Read @first", "second\nof two lines"])

    def test_up_and_down_go_through_earlier_prompts_and_back_to_the_draft(self, desk: Desk) -> None:
        type_text(desk.edit, "draft")
        shown: list[str] = []
        for key in (Qt.Key.Key_Up,) * 4 + (Qt.Key.Key_Down,) * 3:
            desk.key(key)
            shown.append(desk.composer.text())
            assert desk.composer.mentions.typed is None, "an earlier message is not being written"
        second = "second\nof two lines"
        assert shown == [second, second, "Read @first", "Read @first", second, "draft", "draft"]

    def test_within_several_lines_up_moves_the_cursor(self, desk: Desk) -> None:
        desk.composer.set_text("one\ntwo")
        desk.key(Qt.Key.Key_Up)
        assert desk.composer.text() == "one\ntwo"


def pressed(desk: Desk, answers: list[tuple[object, ...]]) -> bool:
    """Press Enter. Whether that answered: it does not in the first moment."""
    desk.key(Qt.Key.Key_Return)
    return bool(answers)


WORKING = "Queue the next message… Ctrl+Enter sends it into this turn."


class TestWorking:
    def test_stop_is_there_only_while_a_turn_runs_and_the_field_says_what_sending_does(self, desk: Desk) -> None:
        assert desk.buttons() == ["Send"]
        assert desk.edit.placeholderText() == "Ask for a change, or a question about this folder…"
        desk.composer.set_working(is_working=True)
        assert desk.buttons() == ["Stop", "Queue"]
        assert desk.edit.placeholderText() == WORKING
        stopped = record(desk.composer.controls.stop.clicked)
        click(desk.child("stopButton"))
        assert len(stopped) == 1
        desk.composer.set_working(is_working=False)
        assert desk.edit.hasFocus(), "a click leaves the keyboard in the field"

    def test_ctrl_enter_sends_into_the_turn_that_runs(self, desk: Desk) -> None:
        sent, steered = record(desk.composer.prompt_submitted), record(desk.composer.steering_submitted)
        desk.composer.set_text("before any")
        desk.key(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        desk.composer.set_working(is_working=True)
        desk.composer.set_text("into it")
        desk.key(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        desk.composer.set_text("behind it")
        desk.key(Qt.Key.Key_Return)
        assert (sent, steered) == ([("before any",), ("behind it",)], [("into it",)])

    def test_while_a_question_waits_enter_denies_with_a_reason_and_ctrl_enter_leaves_it_open(self, desk: Desk) -> None:
        sent, steered = record(desk.composer.prompt_submitted), record(desk.composer.steering_submitted)
        denied = record(desk.composer.denied)
        desk.composer.set_working(is_working=True)
        desk.composer.set_asked("c1")
        [hint] = desk.composer.findChildren(QLabel, "composerHint")
        assert hint.isVisible()
        words = "Enter denies with this reason. Ctrl+Enter sends it into the turn and leaves the question open."
        assert (hint.text(), desk.edit.accessibleDescription()) == (words, words)
        type_text(desk.edit, "in English, please")
        desk.key(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        type_text(desk.edit, "no, do not run that")
        assert hint.isVisible(), "it is said while something is written, too"
        desk.qtbot.waitUntil(lambda: pressed(desk, denied))
        assert (steered, denied) == ([("in English, please",)], [("c1", "no, do not run that")])
        assert (sent, desk.composer.text()) == ([], "")
        desk.composer.set_asked("")
        assert not hint.isVisible()
        assert desk.edit.accessibleDescription() == ""

    def test_a_message_that_meets_a_question_in_its_first_moment_stays_written(self, desk: Desk) -> None:
        sent, denied = record(desk.composer.prompt_submitted), record(desk.composer.denied)
        desk.composer.set_working(is_working=True)
        type_text(desk.edit, "and the tests")
        desk.composer.set_asked("c1")
        desk.key(Qt.Key.Key_Return)
        assert (sent, denied, desk.composer.text()) == ([], [], "and the tests")

    def test_a_command_is_a_command_while_a_question_waits_and_the_button_queues(self, desk: Desk) -> None:
        sent, ran = record(desk.composer.prompt_submitted), record(desk.composer.command_submitted)
        denied = record(desk.composer.denied)
        desk.composer.set_working(is_working=True)
        desk.composer.set_asked("c1")
        type_text(desk.edit, "/undo")
        desk.key(Qt.Key.Key_Escape)  # the list of commands
        desk.key(Qt.Key.Key_Return)
        type_text(desk.edit, "later")
        click(desk.child("sendButton"))
        assert (ran, sent, denied) == ([("/undo",)], [("later",)], [])

    def test_what_the_keys_do_is_said_with_the_keys_that_the_user_chose(self, desk: Desk) -> None:
        desk.composer.set_working(is_working=True)
        desk.composer.set_asked("c1")
        desk.composer.edit.keys.use({"composer.send": ("Ctrl+Return",), "composer.send_at_once": ()})
        [hint] = desk.composer.findChildren(QLabel, "composerHint")
        assert hint.text() == "Ctrl+Enter denies with this reason."

    def test_waiting_prompts_are_shown_and_can_be_taken_back(self, desk: Desk) -> None:
        desk.composer.waiting.show([("p1", "first waits"), ("p2", "second waits")])
        removed = record(desk.composer.waiting.unqueue_requested)
        remove = [button for button in desk.composer.findChildren(QPushButton) if button.text() == "Remove"]
        click(remove[1])
        assert removed == [("p2",)]
        desk.composer.waiting.show([])
        assert "Remove" not in desk.buttons()
        desk.composer.waiting.show([(str(number), f"prompt {number}") for number in range(20)])
        assert desk.buttons().count("Remove") == 4, "they leave room for the field"
        assert "and 16 more" in [label.text() for label in desk.composer.findChildren(QLabel) if label.isVisible()]

    def test_tab_comes_to_what_waits_before_it_comes_to_the_message(self, desk: Desk) -> None:
        for prompts in ([("p1", "one"), ("p2", "two")], [("p2", "two"), ("p1", "one")]):
            desk.composer.waiting.show(prompts)
            names: list[str] = []
            desk.composer.edit.setFocus()
            for _ in range(4):
                QTest.keyClick(desk.composer.window().focusWidget(), Qt.Key.Key_Backtab)
                names.append(desk.composer.window().focusWidget().accessibleName())
            assert names[1:3] == ["Edit the waiting message", "Send the waiting message now"]
            assert names[3] == f"Waiting: {prompts[1][1]}"

    def test_a_waiting_prompt_is_moved_edited_and_removed_by_keyboard(self, desk: Desk) -> None:
        waiting = desk.composer.waiting
        moved, edited, removed = map(
            record, (waiting.move_requested, waiting.edit_requested, waiting.unqueue_requested)
        )
        prompts = [(name, name) for name in "abc"]
        desk.composer.waiting.show(prompts)
        middle = desk.composer.findChildren(QueueCard)[1]
        middle.setFocus()
        for key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            QTest.keyClick(middle, key, Qt.KeyboardModifier.AltModifier)
        assert moved == [("b", "a"), ("b", "")]
        QTest.keyClick(desk.composer.findChildren(QueueCard)[0], Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
        assert len(moved) == 2
        desk.composer.waiting.show([prompts[1], prompts[0], prompts[2]])
        focused = QApplication.focusWidget()
        assert isinstance(focused, QueueCard)
        assert focused.prompt_id == "b"
        QTest.keyClick(focused, Qt.Key.Key_Return)
        QTest.keyClick(focused, Qt.Key.Key_Delete)
        assert (edited, removed) == ([("b",)], [("b",)])
        desk.composer.waiting.show(prompts[2:])
        assert QApplication.focusWidget() is desk.edit

    @pytest.mark.parametrize(("is_far", "moves"), [(True, [("a", "")]), (False, [])])
    def test_a_waiting_prompt_is_dragged_to_its_place_and_stays_in_the_hand_meanwhile(
        self, desk: Desk, is_far: bool, moves: list[tuple[str, str]]
    ) -> None:
        moved = record(desk.composer.waiting.move_requested)
        desk.composer.waiting.show([(name, name) for name in "abc"])
        first, _, last = desk.composer.findChildren(QueueCard)
        home, grip = first.geometry(), QPoint(40, 5)
        way = last.y() - first.y() + 4 if is_far else QApplication.startDragDistance() + 1
        QTest.mousePress(first, Qt.MouseButton.LeftButton, pos=grip)
        left, none, at = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton, QPointF(grip + QPoint(0, way))
        held = (none, left, Qt.KeyboardModifier.NoModifier)
        QApplication.sendEvent(first, QMouseEvent(QEvent.Type.MouseMove, at, first.mapToGlobal(at), *held))
        desk.composer.controls.show_cost(PAID, LAST)
        assert first.y() == home.y() + way
        QTest.mouseRelease(first, Qt.MouseButton.LeftButton, pos=grip)
        assert (first.geometry(), moved) == (home, moves)


class TestFitting:
    def test_the_field_grows_from_two_lines_to_ten(self, desk: Desk) -> None:
        line = desk.edit.fontMetrics().lineSpacing()
        heights: list[int] = []
        for count in (0, 1, 2, 3, 10, 11, 150_000):
            desk.composer.set_text("x\n" * (count - 1) + "x" if count else "")
            heights.append(round((desk.edit.height() - 6) / line))
        assert heights == [2, 2, 2, 3, 10, 10, 10]
        desk.composer.set_text("words that are wrapped " * 20)
        assert desk.edit.height() > 2 * line + 6

    def test_a_control_that_says_more_gets_more_room(self, desk: Desk) -> None:
        button = QPushButton("Sandbox")
        desk.composer.controls.add(button)
        button.setText("Sandbox not available")
        desk.qtbot.waitUntil(lambda: button.width() == button.sizeHint().width())

    def test_of_a_long_prompt_no_more_is_measured_than_can_be_in_sight(self, desk: Desk) -> None:
        desk.composer.waiting.show([("p", "waits " * 300_000)])
        [card] = desk.composer.findChildren(QueueCard)
        assert len(card.accessibleName()) < 3_000
        assert card.accessibleName().endswith("…")

    @pytest.mark.parametrize("width", [340, 430, 640, 1200])
    def test_nothing_is_cut_or_covered_at_any_width(self, desk: Desk, width: int) -> None:
        for text in ("claude-sonnet-5-5 ▾", "Asks before writing ▾", "Workspace sandbox ▾"):
            desk.composer.controls.add(QPushButton(text))
        desk.composer.set_working(is_working=True)
        desk.composer.controls.show_context(USE)
        desk.composer.controls.show_cost(PAID, LAST)
        desk.composer.waiting.show([("p", "waits " * 50), ("s", "steers " * 50)], steering={"s"})
        desk.composer.waiting.set_steerable(is_steerable=True)
        desk.window.resize(width, 500)
        children = [
            child
            for child in desk.composer.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
            if child.isVisible()
        ]
        for child in children:
            assert desk.composer.rect().contains(child.geometry()), child
            if isinstance(child, QPushButton | QLabel):
                assert child.width() >= child.sizeHint().width() or not child.sizeHint().isValid()
            for other in children:
                assert other is child or not other.geometry().intersects(child.geometry())


def test_nothing_moves_when_a_turn_begins_where_the_buttons_just_fit(desk: Desk) -> None:
    control = QPushButton("Sandbox")
    desk.composer.controls.add(control)
    desk.composer.controls.show_context(USE)
    desk.composer.set_working(is_working=True)
    meter, stop = desk.child("contextMeter"), desk.child("stopButton")
    desk.window.resize(340, 500)
    control.setFixedWidth(stop.x() - control.x() - 20)
    desk.qtbot.waitUntil(meter.isHidden)
    height = desk.composer.height()
    assert abs(control.geometry().center().y() - stop.geometry().center().y()) <= 1, "the buttons stand beside it"
    desk.composer.set_working(is_working=False)
    assert desk.composer.height() == height


def test_the_context_is_a_share_of_the_window_and_a_click_asks_what_fills_it(desk: Desk) -> None:
    meter = desk.child("contextMeter")
    assert isinstance(meter, ContextMeter)
    desk.composer.controls.show_context(USE)
    assert meter.text() == "ctx 34 %"
    assert "68\u202f000 of 200\u202f000 tokens" in meter.toolTip()
    desk.composer.controls.show_context(None)
    assert meter.text() == ""
    desk.composer.controls.show_context(ContextUse(tokens=170_000, window=200_000, source="estimated"))
    assert meter.is_nearly_full
    assert "nearly full" in meter.toolTip()
    asked = record(desk.composer.controls.meter.clicked)
    click(meter)
    assert len(asked) == 1


def test_a_blocked_composer_says_why_and_keeps_the_draft(desk: Desk) -> None:
    control = QPushButton("Model")
    desk.composer.controls.add(control)
    type_text(desk.edit, "a draft")
    desk.composer.set_working(is_working=True)
    desk.composer.set_blocked("It is open in another window.")
    desk.key(Qt.Key.Key_Return)
    desk.composer.setFocus()
    assert desk.sent == []
    assert desk.edit.placeholderText() == "It is open in another window."
    assert desk.edit.accessibleDescription() == "It is open in another window."
    assert not desk.child("sendButton").isEnabled()
    assert not control.isEnabled()
    assert "Stop" not in desk.buttons()
    desk.composer.set_blocked("")
    assert desk.composer.text() == "a draft"
    assert control.isEnabled()
    assert "Stop" in desk.buttons()
    assert desk.edit.placeholderText() == WORKING
    desk.composer.setFocus()
    desk.key(Qt.Key.Key_Return)
    assert len(desk.sent) == 1


SONNET = ModelRef(provider="anthropic", model="claude-sonnet-5-5")


def add_pickers(
    desk: Desk, model: ModelRef = SONNET, approval: ApprovalPolicy = "on_write", *, is_wide: bool = False
) -> tuple[PickerButton, ...]:
    pickers = ModePickers(desk.composer)
    controls = (pickers.model_button, pickers.approval_button, pickers.sandbox_button)
    for control in controls:
        desk.composer.controls.add(control)
        if is_wide:
            control.setFont(_wide(control.font()))
    pickers.show_mode(model, approval, "restricted")
    desk.composer.controls.show_context(USE)
    desk.composer.set_working(is_working=True)
    return controls


@pytest.mark.parametrize("has_own_fonts", [True, False], ids=["with its fonts", "with fallback fonts"])
def test_the_row_is_one_row_at_every_width_with_everything_in_it(
    theme: Theme, qtbot: QtBot, has_own_fonts: bool
) -> None:
    """At 1366 pixels the review leaves 572 to the composer; at 1024 the review is above."""
    desk = Desk(theme, qtbot)
    longest = ModelRef(provider="anthropic", model="a-model-with-a-name-that-does-not-end-2026-11-26", effort="medium")
    controls = add_pickers(desk, longest, "on_request", is_wide=not has_own_fonts)
    desk.composer.controls.show_cost(PAID, LAST)
    stop = desk.child("stopButton")
    for width in range(572, 1441, 31):
        desk.window.resize(width, 500)
        QApplication.processEvents()
        tops = [each.geometry().center().y() for each in (*controls, stop)]
        assert max(tops) - min(tops) <= 1, width
        assert all(control.geometry().right() < stop.x() for control in controls), width


def test_the_row_comes_to_rest_at_every_width(desk: Desk) -> None:
    """Two text measures differed by a pixel: at some widths the pickers changed without end."""
    controls = add_pickers(desk)
    for width in range(560, 720):
        desk.window.resize(width, 500)
        QApplication.processEvents()
        shown = [control.text() for control in controls]
        QApplication.sendEvent(desk.composer, QEvent(QEvent.Type.LayoutRequest))
        assert [control.text() for control in controls] == shown, width


def _wide(font: QFont) -> QFont:
    families = [
        name for name in QFontDatabase.families() if name.startswith(("DejaVu Sans", "Noto Sans", "Liberation"))
    ]
    font.setFamilies(families[:1])
    return font


MISSED = CacheMiss(reason="tools", tokens=8_200)
PART = Usage(input_tokens=2_000)
FREE = Usage(input_tokens=5, cost_usd=0.0)


LAST_TURN = "Last turn: $0.03"
READ = "10\u202f000 tokens read by the model, 1\u202f204 written"
CACHED = "97 % of the tokens read came from the cache"
UNCACHED = "About 8\u202f200 tokens of the last turn were not in the provider's cache: the tools changed."
UNKNOWN = (
    "12\u202f000 tokens read by the model, 1\u202f204 written",
    "81 % of the tokens read came from the cache",
    "The price of 2\u202f000 tokens is not known: the cost is higher.",
)


@pytest.mark.parametrize(
    ("session", "turn", "missed", "text", "said"),
    [
        (PAID, LAST, None, "$0.42", [LAST_TURN, READ, CACHED]),
        (PAID + PART, PART, None, "≥ $0.42", [*UNKNOWN]),
        (PAID, LAST, MISSED, "$0.42", [LAST_TURN, READ, CACHED, UNCACHED]),
        (FREE, FREE, None, "$0.00", ["Last turn: $0.00", "5 tokens read by the model, 0 written"]),
    ],
    ids=["all of it", "in part, as the least", "with what the cache did not have", "nothing"],
)
def test_the_cost_is_shown_when_it_is_known(
    desk: Desk, session: Usage, turn: Usage, missed: CacheMiss | None, text: str, said: list[str]
) -> None:
    label = desk.child("costLabel")
    assert isinstance(label, QLabel)
    desk.composer.controls.show_cost(Usage(input_tokens=5), Usage(input_tokens=5))
    assert (label.isHidden(), label.toolTip()) == (True, "")
    desk.composer.controls.show_cost(session, turn, missed)
    assert (label.isVisible(), label.text()) == (True, text)
    lines = [f"This session: {text}", *said, "Click to see the usage of all sessions."]
    assert label.toolTip().split("\n") == lines
    assert label.accessibleDescription() == label.toolTip()
    desk.composer.controls.show_cost(Usage(), Usage())
    assert (label.isHidden(), label.toolTip()) == (True, "")


def test_the_cost_gives_way_before_the_meter_and_after_its_words(desk: Desk) -> None:
    control = QPushButton("Sandbox")
    desk.composer.controls.add(control)
    desk.composer.controls.show_context(USE)
    desk.composer.controls.show_cost(PAID, LAST)
    meter, cost, send = desk.child("contextMeter"), desk.child("costLabel"), desk.child("sendButton")
    whole = meter.width()
    assert cost.geometry().right() < meter.x()
    room = send.x() - control.x()
    control.setFixedWidth(room - cost.width() - 50)
    desk.qtbot.waitUntil(lambda: meter.width() < whole)
    assert cost.isVisible()
    assert "68\u202f000" in meter.toolTip(), "the numbers are still shown"
    control.setFixedWidth(room - 50)
    desk.qtbot.waitUntil(cost.isHidden)
    assert meter.isVisible()
    control.setFixedWidth(room - 20)
    desk.qtbot.waitUntil(meter.isHidden)
    control.setFixedWidth(80)
    desk.qtbot.waitUntil(lambda: cost.isVisible() and meter.width() == whole)


def test_the_button_for_files_stands_inside_the_field_beside_the_text(desk: Desk) -> None:
    attach, edit = desk.composer.attach, desk.composer.edit
    assert (attach.objectName(), attach.accessibleName()) == ("attachButton", "Mention files…")
    for width in (320, 700):
        desk.composer.resize(width, desk.composer.height())
        assert desk.composer.rect().contains(attach.geometry())
        assert not attach.geometry().intersects(edit.geometry())
        assert attach.geometry().bottom() <= edit.geometry().bottom()
