"""The inbox works with the mouse and the keyboard alone, and answers nothing by accident."""

from collections.abc import Generator, Sequence

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPlainTextEdit, QPushButton, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.app.inbox import InboxCard
from desktop_agent.core.protocol.model import ApprovalRequest, Decision, FormField, ServerQuestion
from desktop_agent.ui.chat.entries.entry import EntryActions
from desktop_agent.ui.chat.entries.questions import CardPlace, QuestionCard
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.inbox import InboxItem, InboxPopup, InboxRow, InboxSession, RowCard, items_of
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.focus import FocusKeeper
from desktop_agent.ui.window.top_bar import InboxButton
from tests.journals import asked_to_spend
from tests.parts import part
from tests.presses import click_where
from tests.ui.chat.stage import change
from tests.ui.inbox.stage import NOW, ask, asking, ended, item, session

CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
NAME_FIELD = FormField(name="name", label="Name", kind="text")


class Stage:
    def __init__(self, theme: Theme, qtbot: QtBot) -> None:
        self.qtbot = qtbot
        self.theme = theme
        self.over = QWidget()
        qtbot.addWidget(self.over)
        self.over.resize(1024, 700)
        self.field = QLineEdit(self.over)
        self.button = InboxButton(self.over)
        self.button.move(900, 4)
        self.popup = InboxPopup(theme, self.over, self.button, now=lambda: NOW, make_card=self._make_card)
        self.wishes: list[tuple[str, InboxItem]] = []
        self.answers: list[tuple[str, str]] = []
        self.drafts: dict[str, dict[str, str]] = {}
        self.popup.wished.connect(self._note)
        FocusKeeper(QWidget(self.over), self.field, self.over)
        self.over.show()
        self.field.setFocus()
        self.over.activateWindow()
        qtbot.waitUntil(lambda: QApplication.activeWindow() is self.over)

    def _make_card(self, one: InboxItem, parent: QWidget) -> InboxCard:
        actions = EntryActions(parent)

        def note(_call_id: str, decision: Decision) -> None:
            self.answers.append((one.session_id, decision.outcome))

        actions.approval_answered.connect(note)
        drafts = self.drafts.setdefault(one.session_id, {})
        assert one.request is not None
        return InboxCard(one, CardPlace(one.request, drafts, TextStyles(self.theme), actions, parent))

    @property
    def card(self) -> QuestionCard:
        (card,) = (card for card in self.popup.findChildren(QuestionCard) if card.isVisible())
        return card

    def _note(self, wish: str, one: InboxItem) -> None:
        self.wishes.append((wish, one))

    def open(self, items: Sequence[InboxItem]) -> None:
        self.show(items)
        self.popup.open_popup()

    def show(self, items: Sequence[InboxItem]) -> None:
        """Show the items, and wait for all rows: they are added a few at a time."""
        self.popup.show_items(items)
        self.qtbot.waitUntil(lambda: len(self._made) == min(len(items), 50))

    @property
    def _made(self) -> list[InboxRow]:
        return [row for row in self.popup.findChildren(InboxRow) if not row.isHidden()]

    @property
    def rows(self) -> list[InboxRow]:
        found = [row for row in self.popup.findChildren(InboxRow) if row.isVisible()]
        return sorted(found, key=lambda row: row.y())

    def press(self, row: InboxRow, name: str) -> None:
        QTest.mouseClick(part(row, QPushButton, name), Qt.MouseButton.LeftButton)

    def key(self, key: Qt.Key, held: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        now = QApplication.focusWidget()
        assert now is not None
        QTest.keyClick(now, key, held)

    def until_it_listens(self) -> None:
        self.qtbot.waitUntil(lambda: self.card.is_listening)


@pytest.fixture
def stage(theme: Theme, qtbot: QtBot) -> Generator[Stage]:
    stage = Stage(theme, qtbot)
    yield stage
    stage.popup.close_popup()


def test_nothing_that_waits_is_said_in_words(stage: Stage) -> None:
    stage.open([])
    assert stage.rows == []
    assert stage.popup.isVisible()
    stage.key(Qt.Key.Key_Escape)
    assert not stage.popup.isVisible()


def test_the_oldest_question_is_shown_on_its_card_and_answered_once_it_was_in_sight_for_a_moment(stage: Stage) -> None:
    first, second = item(asking(), "s1"), item(asking("rm -r build"), "s2")
    stage.open([first, second])
    assert stage.card.request is first.request
    assert stage.rows[0].isAncestorOf(stage.card)
    stage.press(stage.rows[0], "inboxAllowButton")
    assert stage.answers == []
    stage.until_it_listens()
    stage.press(stage.rows[0], "inboxAllowButton")
    stage.press(stage.rows[0], "inboxAllowButton")
    assert stage.answers == [("s1", "allowed")]
    assert stage.wishes == []


def test_the_next_question_is_shown_with_the_focus_and_takes_no_second_press_of_the_keys(stage: Stage) -> None:
    items = [item(asking(), f"s{number}") for number in range(3)]
    stage.open(items)
    stage.until_it_listens()
    stage.key(Qt.Key.Key_A, CTRL_SHIFT)
    stage.show(items[1:])
    stage.key(Qt.Key.Key_A, CTRL_SHIFT)
    assert stage.answers == [("s0", "allowed")]
    assert stage.rows[0].hasFocus()
    assert stage.card.request is items[1].request
    stage.until_it_listens()
    stage.key(Qt.Key.Key_D, CTRL_SHIFT)
    assert stage.answers == [("s0", "allowed"), ("s1", "denied")]


def test_a_question_that_comes_into_the_open_inbox_is_shown_and_takes_no_focus(stage: Stage) -> None:
    question, end = item(asking(), "s1"), ended("s2")
    stage.open([end])
    stage.show([question, end])
    stage.qtbot.waitUntil(lambda: stage.rows[0].is_open)
    assert stage.card.request is question.request
    assert stage.rows[1].hasFocus()


def test_the_row_that_is_chosen_shows_its_question_and_an_edited_command_is_kept(stage: Stage) -> None:
    first, second = item(asking(), "s1"), item(asking("rm -r build"), "s2")
    stage.open([first, second])
    field = stage.card.findChild(QPlainTextEdit)
    assert field is not None
    stage.key(Qt.Key.Key_Tab)
    stage.key(Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(field, "2")
    QTest.mouseClick(stage.rows[1], Qt.MouseButton.LeftButton, pos=QPoint(60, 12))
    assert stage.card.request is second.request
    assert stage.wishes == []
    QTest.mouseClick(stage.rows[0], Qt.MouseButton.LeftButton, pos=QPoint(60, 12))
    field = stage.card.findChild(QPlainTextEdit)
    assert field is not None
    assert field.toPlainText() == "touch made.txt2"


def test_a_question_that_moves_takes_no_press_that_was_meant_for_another(stage: Stage) -> None:
    first, second = item(asking(), "s1"), item(asking(), "s2")
    stage.open([first, second])
    stage.rows[1].setFocus()
    stage.until_it_listens()
    stage.show([second])
    stage.press(stage.rows[0], "inboxAllowButton")
    assert stage.answers == []
    stage.until_it_listens()
    stage.press(stage.rows[0], "inboxAllowButton")
    assert stage.answers == [("s2", "allowed")]


def test_a_question_that_stays_goes_on_listening_and_a_click_on_an_ended_turn_shows_it(stage: Stage) -> None:
    first, second = item(asking(), "s1"), ended("s2")
    stage.open([first])
    stage.until_it_listens()
    stage.show([first, second])
    assert stage.card.is_listening
    QTest.mouseClick(stage.rows[1], Qt.MouseButton.LeftButton)
    assert stage.wishes == [("show", second)]


@pytest.mark.parametrize(
    "request_",
    [
        asking("echo a\necho b"),
        replace(asking(), risks=("Deletes files",), cwd="/srv"),
        replace(asking(None), changes=(change(),)),
        replace(asking(None), server="files", server_tool="list", arguments={"path": "a"}),
        replace(asking(), is_escalation=True),
        replace(asking(None), question=ServerQuestion(server="s", message="Which?", fields=(NAME_FIELD,))),
        replace(asking(None), question=ServerQuestion(server="s", message="Go", address="https://example.org")),
        asked_to_spend(1, "q-1", 5.0).request,
    ],
)
def test_every_kind_of_question_is_answered_on_its_card(stage: Stage, request_: ApprovalRequest) -> None:
    one = item(request_)
    stage.open([one])
    stage.until_it_listens()
    assert stage.popup.rect().contains(stage.card.rect().translated(stage.card.mapTo(stage.popup, QPoint(0, 0))))
    stage.press(stage.rows[0], "inboxDenyButton")
    if request_.question is None and request_.spending is None:
        stage.key(Qt.Key.Key_Return)  # without a reason
    assert stage.answers == [("s1", "denied")]


def test_a_question_of_another_process_is_only_told(stage: Stage) -> None:
    transcript = session("s1")
    ask(transcript, asking())
    (theirs,) = items_of([InboxSession(transcript, is_read_only=True)], (), {})
    stage.open([theirs])
    assert stage.popup.findChildren(QuestionCard) == []
    assert "Answer the question there" in stage.rows[0].accessibleName()


def test_what_became_of_a_question_is_said_until_the_inbox_is_opened_again(stage: Stage) -> None:
    stage.open([item(asking(), "s1")])
    stage.show([])
    stage.popup.say("Denied elsewhere: Make a file")
    news = part(stage.popup, QLabel, "inboxNews")
    assert news.isVisible()
    stage.popup.close_popup()
    stage.popup.open_popup()
    assert not news.isVisible()


def test_the_keyboard_goes_through_the_rows_and_shows_one(stage: Stage) -> None:
    items = [item(asking(), "s1"), item(asking(), "s2"), ended("s3")]
    stage.open(items)
    assert stage.rows[0].hasFocus()
    stage.key(Qt.Key.Key_Up)
    stage.key(Qt.Key.Key_Down)
    stage.key(Qt.Key.Key_Down)
    assert stage.rows[2].hasFocus()
    stage.key(Qt.Key.Key_Down)
    stage.key(Qt.Key.Key_Return)
    assert stage.wishes == [("show", items[2])]
    assert not stage.popup.isVisible()


def test_tab_stays_inside_and_reaches_every_answer(stage: Stage) -> None:
    stage.open([item(asking(), "s1")])
    stage.until_it_listens()
    reached = [QApplication.focusWidget()]
    for _ in range(6):
        stage.key(Qt.Key.Key_Tab)
        reached.append(QApplication.focusWidget())
    names = [
        one.objectName() or (one.text() if isinstance(one, QPushButton) else one.accessibleName())
        for one in reached
        if one is not None
    ]
    assert names == ["inboxRow", "Command", "Edit", "inboxAllowButton", "Review…", "inboxDenyButton", "inboxShowButton"]
    stage.key(Qt.Key.Key_Tab)
    assert stage.rows[0].hasFocus()


def test_the_keyboard_stays_in_the_inbox_while_rows_go_and_come(stage: Stage) -> None:
    stage.open([item(asking(), "s1")])
    stage.until_it_listens()
    stage.press(stage.rows[0], "inboxAllowButton")
    stage.show([])
    stage.show([ended("s1")])
    assert stage.rows[0].hasFocus()


def test_the_colours_of_a_question_follow_the_theme(stage: Stage) -> None:
    stage.open([item(asking(), "s1")])
    before = stage.card
    stage.theme.choose("dark")
    assert stage.card is not before
    assert stage.rows[0].hasFocus()


def test_a_click_beside_it_closes_it_and_reaches_what_was_clicked(stage: Stage) -> None:
    stage.open([ended()])
    click_where(stage.field, QPoint(130, 5))  # right of the conversation's place
    assert not stage.popup.isVisible()
    assert stage.field.hasFocus()


def test_all_ends_are_seen_at_once_and_questions_are_not(stage: Stage, qtbot: QtBot) -> None:
    stage.open([item(asking(), "s1"), ended("s2")])
    button = part(stage.popup, QPushButton, "inboxAllSeenButton")
    with qtbot.waitSignal(stage.popup.all_seen):
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    stage.show([item(asking(), "s1")])
    assert not button.isVisible()


def test_hundreds_of_rows_are_cut_in_words(stage: Stage) -> None:
    stage.open([ended(f"s{number}") for number in range(120)])
    assert len(stage.rows) == 50
    assert stage.over.rect().contains(stage.popup.geometry())


def test_it_is_as_high_as_its_rows_and_shows_each_whole(stage: Stage) -> None:
    stage.open([item(asking(), "s1"), item(asking("git push " + "x" * 300), "s2"), ended("s3")])
    shown = stage.popup.rect()
    for row in stage.rows:
        assert shown.contains(row.rect().translated(row.mapTo(stage.popup, QPoint(0, 0))))
        assert row.height() >= row.minimumSizeHint().height()
    assert part(stage.popup, QScrollArea, "inboxList").verticalScrollBar().maximum() == 0


class GrowingCard(RowCard):
    """As that of a change, whose lines are loaded once the card is shown."""

    most = 40

    def height_in(self, width: int) -> int:
        self.resize(width, self.most)
        return self.most

    def rearm(self) -> None: ...


@pytest.mark.parametrize("most", [300, 2_000])
def test_a_question_that_grows_is_scrolled_into_sight(stage: Stage, most: int) -> None:
    popup = InboxPopup(
        stage.theme, stage.over, stage.button, now=lambda: NOW, make_card=lambda _, row: GrowingCard(row)
    )
    popup.show_items([item(asking(), f"s{number}") for number in range(9)])
    stage.qtbot.waitUntil(lambda: len(popup.findChildren(InboxRow)) == 9)
    popup.open_popup()
    for _ in range(6):
        stage.key(Qt.Key.Key_Down)
    row = QApplication.focusWidget()
    assert isinstance(row, InboxRow)
    (card,) = row.findChildren(GrowingCard)
    card.most = most
    card.updateGeometry()
    sight = part(popup, QScrollArea, "inboxList").viewport()
    stage.qtbot.waitUntil(lambda: row.height() > most)

    def is_in_sight() -> bool:
        shown = row.rect().translated(row.mapTo(sight, QPoint(0, 0)))
        is_begun = shown.top() in range(sight.height())
        return is_begun and (shown.bottom() < sight.height() or shown.top() < 20)

    stage.qtbot.waitUntil(is_in_sight)
    popup.close_popup()


def test_a_row_says_all_of_it_to_a_screen_reader(stage: Stage) -> None:
    stage.open([item(asking(), "s1")])
    name = stage.rows[0].accessibleName()
    assert all(part in name for part in ("Make a file", "Wants to run a command", "touch made.txt"))
    assert [button.accessibleName() for button in stage.rows[0].buttons] == ["Show: Make a file"]


def test_the_button_says_how_much_there_is_and_is_amber_while_something_waits(stage: Stage) -> None:
    for items, waiting, text, variant, said in (
        (0, 0, "", "flat", "Inbox, nothing waiting"),
        (2, 0, "2", "flat", "Inbox, 2 new"),
        (2, 2, "2", "warning", "Inbox, 2 waiting for you"),
        (120, 1, "99+", "warning", "Inbox, 1 waiting for you, 119 new"),
    ):
        stage.button.show_count(items, waiting)
        button = stage.button
        assert (button.text(), button.property("variant"), button.accessibleName()) == (text, variant, said)
