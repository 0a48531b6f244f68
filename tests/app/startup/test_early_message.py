"""A message sent before the window shows anything goes only to the session that it was meant for."""

import os
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.providers.demo import DEMO_PROMPT
from desktop_agent.core.store.drafts import DraftKey, Drafts, SavedDraft, folder_draft
from tests.app.conftest import Journey
from tests.app.startup.held_machinery import OTHER_ID, BeginWith, Machinery, load
from tests.e2e.driver import Driver

MESSAGE = "And the pears?"
WAITS = "Your message is not sent yet: the window is still loading."
LEFT = "Your message is not sent: you chose something else meanwhile."
HOMELESS = "Your message is not sent: no folder is open."

pytestmark = pytest.mark.usefixtures("qapp", "sessions")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "workspace"


@pytest.fixture
def begin(begin_with: BeginWith) -> BeginWith:
    def run(argv: list[str], journey: Journey) -> None:
        async def listened_to(user: Driver) -> None:
            await user.pause()  # the window begins to listen
            await journey(user)

        begin_with(argv, listened_to)

    return run


def title(user: Driver) -> str:
    return user.banner[0] if user.banner else ""


def field(user: Driver) -> str:
    return user.composer.text()


async def send(user: Driver, text: str = MESSAGE) -> None:
    await user.type("composer", text)
    await user.press(Qt.Key.Key_Return)
    await user.until_true(lambda: bool(user.banner), "the banner says something")
    assert field(user) == text, "it is in the field until it is sent"


async def see_asked(user: Driver, prompt: str = MESSAGE) -> None:
    await user.until_true(lambda: user.transcript.turn == 1, "it is asked")
    await user.until_true(lambda: not user.transcript.turns.is_running, "the turn has ended")
    assert user.transcript.turns.prompts[1] == prompt


def kept(key: DraftKey) -> SavedDraft:
    return Drafts(AppPaths.from_environment(os.environ).data / "drafts").load(key)


def write_draft(key: DraftKey, text: str) -> None:
    Drafts(AppPaths.from_environment(os.environ).data / "drafts").save(key, SavedDraft(text=text))


def test_an_example_that_is_chosen_above_something_unfinished_is_not_sent_with_it(
    begin: BeginWith, machinery: Machinery, folder: Path
) -> None:
    async def journey(user: Driver) -> None:
        await user.type("composer", "And the")
        user.window.panels.transcript.entry_actions.example_chosen.emit("What is this?")
        assert field(user) == "What is this?\n\nAnd the"
        await load(user, machinery)
        assert field(user) == "What is this?\n\nAnd the"
        assert user.transcript.turn == 0

    begin([str(folder)], journey)


def test_it_is_said_that_it_waits_and_it_is_sent_once_without_the_earlier_draft_when_there_is_a_conversation(
    begin: BeginWith, machinery: Machinery, folder: Path
) -> None:
    write_draft(folder_draft(folder), "Unfinished")

    async def journey(user: Driver) -> None:
        await send(user)
        assert title(user) == WAITS
        await user.type("composer", " Or not?")
        assert user.banner == [], "it is a draft again"
        await user.press(Qt.Key.Key_Return)
        assert title(user) == WAITS
        await load(user, machinery)
        await see_asked(user, f"{MESSAGE} Or not?")
        assert user.transcript.turn == 1
        assert not user.transcript.turns.queued
        assert field(user) == "Unfinished"
        assert WAITS not in user.banner

    begin([str(folder)], journey)


@pytest.mark.parametrize("is_chosen_first", [False, True])
def test_when_something_else_is_chosen_it_goes_along_and_is_not_sent(
    begin: BeginWith, machinery: Machinery, sessions: dict[SessionId, Path], folder: Path, is_chosen_first: bool
) -> None:
    def choose(user: Driver) -> None:
        user.window.panels.sessions.session_chosen.emit(OTHER_ID)

    async def journey(user: Driver) -> None:
        if is_chosen_first:
            choose(user)
        await send(user)
        if not is_chosen_first:
            choose(user)
        assert title(user) == LEFT
        await load(user, machinery)
        await user.until_true(lambda: user.transcript.session.session_id == OTHER_ID, "it is shown")
        await user.until_true(lambda: field(user) == MESSAGE, "the message came along")
        assert title(user) == LEFT
        await user.until_true(lambda: kept(folder_draft(folder)).is_empty, "it is in one place")
        await user.press(Qt.Key.Key_Return)
        assert LEFT not in user.banner
        await user.until_true(lambda: not user.transcript.turns.is_running, "the turn has ended")

    begin([str(folder)], journey)
    assert MESSAGE.encode() in sessions[OTHER_ID].read_bytes(), "only because the user sent it there"


def test_when_something_else_is_chosen_while_the_first_is_being_shown_it_is_not_sent(
    begin: BeginWith, machinery: Machinery, sessions: dict[SessionId, Path], folder: Path
) -> None:
    """The machinery is already loaded, and the folder's conversation is being opened."""
    write_draft(folder_draft(folder), "Unfinished")

    async def journey(user: Driver) -> None:
        await send(user)

        def choose() -> None:
            user.window.panels.sessions.session_chosen.emit(OTHER_ID)

        user.composer.text_changed.connect(choose, Qt.ConnectionType.SingleShotConnection)
        await load(user, machinery)
        await user.until_true(lambda: user.transcript.session.session_id == OTHER_ID, "it is shown")
        await user.until_true(lambda: field(user) == MESSAGE, "the message came along")
        assert title(user) == LEFT
        assert MESSAGE not in user.transcript.turns.prompts.values()

    begin([str(folder)], journey)
    assert kept(folder_draft(folder)).text == "Unfinished"
    begun = set(AppPaths.from_environment(os.environ).sessions.iterdir())
    assert begun == {journal.parent for journal in sessions.values()}


def test_one_that_is_changed_at_its_beginning_while_a_conversation_is_being_shown_is_a_draft_again(
    begin: BeginWith, machinery: Machinery, folder: Path
) -> None:
    write_draft(folder_draft(folder), "Unfinished")
    changed = f"Unfinished\n\nNot yet: {MESSAGE}"

    async def journey(user: Driver) -> None:
        await send(user)
        composer = user.composer
        composer.text_changed.connect(lambda: composer.set_text(changed), Qt.ConnectionType.SingleShotConnection)
        await load(user, machinery)
        assert field(user) == changed
        assert user.transcript.turn == 0
        assert WAITS not in user.banner

    begin([str(folder)], journey)


def test_the_demo_does_not_write_over_it(begin: BeginWith, machinery: Machinery, folder: Path) -> None:
    async def journey(user: Driver) -> None:
        await send(user)
        user.actions.demo.trigger()
        await load(user, machinery)
        await user.until_true(lambda: user.transcript.session.model is not None, "a conversation is shown")
        await user.until_true(lambda: user.transcript.session.workspace != str(folder), "it is the demo's")
        assert title(user) == LEFT
        assert field(user) == MESSAGE != DEMO_PROMPT

    begin([str(folder)], journey)


def test_without_a_folder_to_begin_in_it_is_said_and_one_is_asked_for(
    begin: BeginWith, machinery: Machinery, sessions: dict[SessionId, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for journal in sessions.values():
        journal.unlink()
    monkeypatch.chdir("/")

    async def journey(user: Driver) -> None:
        await send(user)
        await load(user, machinery)
        assert title(user) == HOMELESS
        assert field(user) == MESSAGE
        (await user.see(QDialog, "onboardingDialog")).reject()

    begin([], journey)


def test_when_the_machinery_cannot_be_loaded_that_is_said_until_the_window_is_closed(
    begin: BeginWith, machinery: Machinery, folder: Path, expected_logs: list[str]
) -> None:
    machinery.fault = ImportError("a library is broken")
    expected_logs.append("The core could not be loaded")

    async def journey(user: Driver) -> None:
        await send(user)
        machinery.may_load.set()
        await user.until_true(lambda: title(user) not in ("", WAITS), "the banner says what happened")
        assert "could not be loaded" in title(user)
        assert "a library is broken" in user.window.panels.conversation.banner.toolTip()
        assert field(user) == MESSAGE
        await user.press(Qt.Key.Key_Return)
        assert "could not be loaded" in title(user), "nothing is promised any more"
        assert field(user) == MESSAGE

    begin([str(folder)], journey)


@pytest.mark.usefixtures("machinery")
def test_a_window_that_is_closed_while_it_loads_sends_nothing_and_keeps_it(
    begin: BeginWith, sessions: dict[SessionId, Path], folder: Path
) -> None:
    async def journey(user: Driver) -> None:
        await send(user)
        user.window.request_quit()

    begin([str(folder)], journey)
    assert kept(folder_draft(folder)).text == MESSAGE
    begun = set(AppPaths.from_environment(os.environ).sessions.iterdir())
    assert begun == {journal.parent for journal in sessions.values()}
