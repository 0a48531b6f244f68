"""Claude's clouds in the real window: set up, checked, chosen, asked, left and come back to."""

import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QDialog, QLineEdit, QListView, QPushButton

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.models.account import Account, usual_account
from desktop_agent.core.providers.auth.accounts import ACCOUNTS_NAME, AccountsFile
from desktop_agent.core.settings.settings_file import save_setting
from desktop_agent.core.system.processes import worker_process
from tests.app.conftest import Go
from tests.e2e.driver import Driver, ask_for_no_titles
from tests.memory_keyring import MemoryKeyring, use_keyring
from tests.parts import visible_texts
from tests.servers.dialects.clouds import PROJECT, bedrock, vertex
from tests.servers.script import reply, text, thinking, tool_use
from tests.servers.threaded import in_thread, serve
from tests.servers.token_servers import GoogleTokens
from tests.system_processes import descendants, running_with

pytestmark = pytest.mark.usefixtures("qapp")

SDK = "desktop_agent.core.providers.sdk_worker"
MODEL = "global.anthropic.claude-sonnet-5-5"
AWS_ID, SECRET = "AKIATESTTESTTEST1234", "a-secret-of-the-test-0123456789"
TOKEN = "access-token-of-the-test-0123456789"
CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


@pytest.fixture(autouse=True)
def keyring(monkeypatch: pytest.MonkeyPatch, isolated_home: Path) -> Iterator[MemoryKeyring]:
    worker_process.module_command(SDK)  # the first one imports the SDK, which may take longer than a user waits
    backend = MemoryKeyring()
    use_keyring(monkeypatch, backend)
    ask_for_no_titles()
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(isolated_home / "no config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(isolated_home / "no credentials"))
    yield backend
    for file in isolated_home.rglob("*"):
        assert not file.is_file() or not any(
            secret in file.read_bytes() for secret in (SECRET.encode(), TOKEN.encode())
        )
    assert workers() == [], "they end with the window"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", AWS_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


def usual_account_in(region: str) -> Account:
    return replace(usual_account("bedrock"), cloud={"region": region})


def accounts() -> AccountsFile:
    return AccountsFile(AppPaths.from_environment(os.environ).config / ACCOUNTS_NAME)


def workers() -> list[psutil.Process]:
    return running_with("sdk_worker", descendants())


def said(user: Driver) -> str:
    dialogs = (user.find(QDialog, name) for name in ("onboardingDialog", "settingsDialog"))
    return "\n".join(text for dialog in dialogs if dialog is not None for text in visible_texts(dialog))


async def choose(user: Driver, words: str) -> None:
    await user.press(Qt.Key.Key_M, CTRL_SHIFT)
    rows = await user.see(QListView, "modelList")
    await user.until_true(lambda: rows.model().rowCount() > 9, "the keyring has answered")
    await user.type("modelSearch", words)
    await user.press(Qt.Key.Key_Return)
    await user.until_true(lambda: user.find(QListView, "modelList") is None, "the picker has closed")


def test_bedrock_is_set_up_at_the_first_start_and_answers(
    go: Go, project: Path, monkeypatch: pytest.MonkeyPatch, aws: None
) -> None:
    del aws
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.chdir(project)

    async def journey(user: Driver) -> None:
        await user.see(QDialog, "onboardingDialog")
        for _ in range(4):
            await user.press(Qt.Key.Key_Down)
        await user.press(Qt.Key.Key_Return)
        region = await user.see(QLineEdit, "cloud_region")
        await user.until_true(lambda: region.text() == "eu-central-1", "the environment fills it")
        region.setFocus()
        await user.press(Qt.Key.Key_Return)
        assert (await user.see(QComboBox, "firstModelEdit")).currentText() == MODEL
        assert "Credentials: AWS access key …1234 (env), region eu-central-1." in said(user)
        await user.until_true(lambda: workers() == [], "the process of the check has ended")
        await user.click("beginButton")
        await user.until_true(lambda: user.find(QDialog, "onboardingDialog") is None, "the welcome has closed")
        await user.until_true(lambda: bool(workers()), "the process starts before anything is asked")
        await user.run_turn("What does it do?")

    with serve(reply(text("It prints.")), dialect=bedrock(MODEL)) as server:
        monkeypatch.setenv("ANTHROPIC_BEDROCK_BASE_URL", server.url)
        go([], journey)
        assert server.violations == []
        assert len(server.messages) == 1
    assert accounts().load().find("bedrock", "") == usual_account_in("eu-central-1")


def test_missing_credentials_and_a_missing_region_are_said_where_the_account_is(
    go: Go, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def journey(user: Driver) -> None:
        if user.find(QDialog, "onboardingDialog") is not None:
            await user.press(Qt.Key.Key_Escape)
        await user.open_settings()
        await user.until_true(lambda: len(workers()) == 1, "the conversation's own process has started")
        await user.click("checkSignInButton")
        await user.until_true(lambda: len(workers()) == 2, "the check has one, too")
        await user.click("cancelSignInButton")
        await user.until_true(lambda: len(workers()) == 1, "the check's has ended")
        await user.click("checkSignInButton")
        await user.see(QPushButton, "cancelSignInButton")
        await user.until_true(lambda: "Amazon Bedrock cannot be asked" in said(user), "the region is missed")
        await user.type("cloud_region", "eu-central-1")
        await user.press(Qt.Key.Key_Return)
        await user.until_true(lambda: "Amazon Bedrock cannot be asked" not in said(user), "the region is kept")
        await user.click("checkSignInButton")
        await user.until_true(lambda: "no usable credentials for Amazon Bedrock. Sign in" in said(user), "how is said")
        await user.press(Qt.Key.Key_Escape)

    save_setting(AppPaths.from_environment(os.environ).settings_file(), "model.provider", "bedrock")
    go([str(project)], journey)
    assert accounts().load().find("bedrock", "") == usual_account_in("eu-central-1")


def test_a_session_goes_from_anthropic_to_bedrock_and_back_and_resumes_with_it_and_with_vertex(
    go: Go, project: Path, monkeypatch: pytest.MonkeyPatch, aws: None, tmp_path: Path
) -> None:
    del aws
    accounts().put(usual_account_in("eu-central-1"))
    accounts().put(replace(usual_account("vertex"), cloud={"region": "global", "project": PROJECT}))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-000000000000")
    task = reply(
        thinking("I change it.", signature="c2ln"),
        tool_use("edit_file", path="notes.txt", old_str="mine", new_str="ours"),
    )

    async def first(user: Driver) -> None:
        await user.run_turn("Hello?")
        await choose(user, "bedrock sonnet")
        await user.until_true(lambda: bool(workers()), "the process starts with the model")
        turn = user.transcript.turn + 1
        await user.send("Change the notes.")
        await user.until_true(lambda: user.transcript.turn == turn, "the turn has begun")
        await user.allow_with_mouse()
        await user.see_turn_end()
        await choose(user, "anthropic/claude-opus")
        await user.run_turn("And now?")
        await choose(user, "bedrock sonnet")

    async def second(user: Driver) -> None:
        await user.until_true(lambda: bool(workers()), "the process starts with the session")
        await user.run_turn("Is it right?")
        await choose(user, "vertex sonnet")
        await user.run_turn("Do you agree?")

    async def third(user: Driver) -> None:
        await user.run_turn("Are you sure?")

    with (
        serve(reply(text("Hello.")), reply(text("Now this."))) as anthropic,
        serve(task, reply(text("Changed.")), reply(text("Yes.")), dialect=bedrock(MODEL, **{AWS_ID: SECRET})) as cloud,
        in_thread(GoogleTokens(TOKEN)) as (tokens, _),
        serve(reply(text("I do.")), reply(text("I am.")), dialect=vertex("claude-sonnet-5-5"), key=TOKEN) as google,
    ):
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tokens.write_key(tmp_path / "google.json")))
        monkeypatch.setenv("ANTHROPIC_VERTEX_BASE_URL", google.url)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", anthropic.url)
        monkeypatch.setenv("ANTHROPIC_BEDROCK_BASE_URL", cloud.url)
        go([str(project), "--provider", "anthropic"], first)
        assert (project / "notes.txt").read_text() == "ours\n"
        go([str(project), "--resume"], second)
        go([str(project), "--resume"], third)
        assert (anthropic.violations, cloud.violations, google.violations) == ([], [], [])
        assert len(google.messages) == 2
        assert len(cloud.messages) == 3
        assert "I change it." not in str(anthropic.messages[-1].body), "another model's thinking stays here"
