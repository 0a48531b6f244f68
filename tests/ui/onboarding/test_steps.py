"""The welcome's steps: their questions, and the display of results."""

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.models.account import usual_account
from desktop_agent.core.models.vendors import LocalServer
from desktop_agent.ui.onboarding.welcome_steps import Connected, Found, InstalledAgent
from tests.parts import part
from tests.ui.onboarding.desk import Desk

KEY = "sk-ant-test-0123456789abcdef"
ANTHROPIC = usual_account("anthropic")
OLLAMA = LocalServer(
    provider="ollama", address="http://127.0.0.1:11434/v1", state="running", models=("qwen3:8b", "a", "b", "c")
)
ABSENT = LocalServer(provider="llamacpp", address="http://127.0.0.1:8080/v1", state="not_running")
CONNECTED = Connected(account=ANTHROPIC, models=("claude-a", "claude-b"), usual_model="claude-b")
PAGE = "https://auth.example/authorize?state=1"


def at_key(desk: Desk) -> None:
    desk.choose("Enter an API key")
    desk.click("enterKeyButton")


def at_servers(desk: Desk) -> None:
    desk.choose("Use a model on this machine")
    desk.click("localModelsButton")


def at_subscription(desk: Desk) -> None:
    desk.choose("Use a subscription")
    desk.click("subscriptionButton")


def at_address(desk: Desk) -> None:
    desk.choose("OpenRouter or another address")
    desk.click("otherAddressButton")
    desk.choose("Enter an address")
    desk.click("enterAddressButton")


def picked(desk: Desk, accessible_name: str) -> QComboBox:
    return next(box for box in desk.dialog.findChildren(QComboBox) if box.accessibleName() == accessible_name)


def field(desk: Desk) -> str:
    lines = [line.text() for line in desk.dialog.findChildren(QLineEdit, "apiKeyEdit")]
    return "".join(lines)


def at_cloud(desk: Desk, provider: str) -> None:
    desk.choose("Claude through AWS, Google or Microsoft")
    desk.click("cloudButton")
    box = picked(desk, "Cloud")
    box.setCurrentIndex(box.findData(provider))


def cloud_fields(desk: Desk) -> dict[str, str]:
    lines = desk.dialog.findChildren(QLineEdit)
    return {
        line.objectName().removeprefix("cloud_"): line.text()
        for line in lines
        if line.isVisible() and line.objectName().startswith("cloud_")
    }


# --- a key -----------------------------------------------------------------------------------------------------------


def test_the_page_where_keys_are_made_follows_the_provider(desk: Desk) -> None:
    at_key(desk)
    assert "platform.claude.com" in desk.texts
    box = picked(desk, "Provider")
    assert [box.itemText(place) for place in range(box.count())] == ["Anthropic", "OpenAI", "OpenRouter", "xAI"]
    box.setCurrentIndex(2)
    assert "openrouter.ai" in desk.texts
    assert not desk.button("tryKeyButton").isEnabled()
    desk.type_into("apiKeyEdit", KEY)
    desk.click("tryKeyButton")
    assert desk.connected == [(usual_account("openrouter"), KEY)]


def test_a_key_of_the_environment_needs_not_be_typed(desk: Desk) -> None:
    desk.dialog.show_found(Found(provider="anthropic", keys={"xai": "XAI_API_KEY"}))
    at_key(desk)
    assert "XAI_API_KEY" in desk.texts
    desk.click("tryKeyButton")
    assert desk.connected == [(usual_account("xai"), "")]


def test_a_refused_key_can_be_corrected_and_the_reason_is_said(desk: Desk) -> None:
    at_key(desk)
    desk.type_into("apiKeyEdit", KEY)
    desk.click("tryKeyButton")
    desk.dialog.show_busy("Asking Anthropic…")
    assert desk.primary == ""
    assert desk.focus == "backButton"
    desk.dialog.show_failure(AgentError("The key was refused.", hint="Look at it."))
    assert "The key was refused. Look at it." in desk.texts
    assert field(desk) == KEY
    assert desk.primary == "tryKeyButton"


def test_a_test_that_runs_is_given_up_by_escape_and_by_the_button(desk: Desk) -> None:
    at_key(desk)
    for give_up in (lambda: desk.press(Qt.Key.Key_Escape), lambda: desk.click("backButton")):
        desk.asked.clear()
        desk.dialog.show_busy("Asking Anthropic…")
        give_up()
        assert desk.asked == ["cancel"]
        assert desk.primary == "tryKeyButton"
        assert "Asking" not in desk.texts


@pytest.mark.parametrize("leaves", ["back", "close", "connected"])
def test_a_typed_key_is_forgotten_when_its_step_is_left(desk: Desk, leaves: str) -> None:
    at_key(desk)
    desk.type_into("apiKeyEdit", KEY)
    match leaves:
        case "back":
            desk.click("backButton")
        case "close":
            desk.dialog.close()
        case _:
            desk.dialog.show_connected(CONNECTED)
    assert field(desk) == ""


# --- a local server --------------------------------------------------------------------------------------------------


def test_servers_are_looked_for_and_those_that_run_are_offered(desk: Desk) -> None:
    at_servers(desk)
    assert desk.asked == ["servers"]
    assert not desk.button("useServerButton").isEnabled()
    desk.dialog.show_servers([OLLAMA, ABSENT])
    assert desk.cards == ["Ollama"]
    assert "llama.cpp is not running on 127.0.0.1:8080." in desk.texts
    desk.press(Qt.Key.Key_Return)
    assert desk.connected == [(usual_account("ollama"), "")]


def test_how_a_server_is_started_stands_in_quotes_and_not_in_the_marks_of_a_document(desk: Desk) -> None:
    at_servers(desk)
    desk.dialog.show_servers([ABSENT])
    assert "Start it with “llama-server -m MODEL.gguf”." in desk.texts
    desk.dialog.show_failure(AgentError("No.", hint="Sign in: `ant auth login`."))
    assert "Sign in: “ant auth login”." in desk.texts
    assert "`" not in desk.texts


def test_a_server_elsewhere_on_this_machine_is_asked_where_it_is(desk: Desk) -> None:
    at_servers(desk)
    address = "http://127.0.0.1:5000/v1"
    desk.dialog.show_servers([replace(OLLAMA, address=address)])
    desk.click("useServerButton")
    assert desk.connected == [(replace(usual_account("ollama"), address=address), "")]


def test_what_does_not_run_is_looked_for_again(desk: Desk) -> None:
    at_servers(desk)
    desk.dialog.show_servers([ABSENT])
    assert desk.cards == []
    assert not desk.button("useServerButton").isEnabled()
    desk.click("lookAgainButton")
    assert desk.asked == ["servers", "servers"]
    desk.dialog.show_servers([OLLAMA])
    assert desk.button("useServerButton").isEnabled()


def test_a_server_that_does_not_run_is_not_told_of_where_another_of_its_kind_does(desk: Desk) -> None:
    at_servers(desk)
    other = LocalServer(provider="ollama", address="http://127.0.0.1:5000/v1", state="not_running")
    desk.dialog.show_servers([OLLAMA, other])
    assert "not running" not in desk.texts


# --- a subscription --------------------------------------------------------------------------------------------------


def test_chatgpt_and_every_profile_are_offered(desk: Desk) -> None:
    desk.dialog.show_found(Found(profiles=("default", "work")))
    at_subscription(desk)
    assert desk.cards == ["Sign in with ChatGPT", "Anthropic profile “default”", "Anthropic profile “work”"]
    desk.click("signInButton")
    desk.choose("Anthropic profile “work”")
    desk.click("useProfileButton")
    assert desk.signed_in == [("chatgpt", ""), ("profile", "work")]


def test_why_other_sign_ins_are_not_used_is_said(desk: Desk) -> None:
    at_subscription(desk)
    assert "A Claude subscription cannot be used here" in desk.texts
    desk.dialog.show_found(Found(others=("Claude Code is signed in, and not read.",)))
    assert "Claude Code is signed in, and not read." in desk.texts
    assert "A Claude subscription cannot be used here" not in desk.texts


def test_the_wait_for_the_browser_shows_an_address_to_copy(desk: Desk) -> None:
    at_subscription(desk)
    desk.dialog.show_busy("Preparing the sign-in…")
    desk.dialog.show_waiting(PAGE, is_open=True)
    assert "Waiting for the browser…" in desk.texts
    desk.click("copyAddressButton")
    assert QGuiApplication.clipboard().text() == PAGE
    desk.dialog.show_waiting(PAGE, is_open=False)
    assert "No browser could be opened." in desk.texts


# --- another address -------------------------------------------------------------------------------------------------


def test_an_address_may_need_no_key_and_speak_another_format(desk: Desk) -> None:
    at_address(desk)
    desk.type_into("newAccountNameEdit", "rack")
    desk.type_into("newAddressEdit", "https://models.example/v1/")
    assert not desk.button("tryAddressButton").isEnabled()
    picked(desk, "Format").setCurrentIndex(2)
    picked(desk, "How the key is sent").setCurrentIndex(2)
    desk.click("tryAddressButton")
    ((account, key),) = desk.connected
    assert (account.provider, account.kind, key) == ("anthropic", "none", "")
    assert account.address == "https://models.example/v1"


@pytest.mark.parametrize(
    ("name", "address", "says"),
    [
        ("two words", "https://models.example", "letters"),
        ("work", "https://me:secret@models.example", "before the @"),
        ("work", "http://models.example", "Not encrypted"),
    ],
)
def test_what_is_wrong_with_an_address_is_said_while_it_is_typed(
    desk: Desk, name: str, address: str, says: str
) -> None:
    at_address(desk)
    desk.type_into("newAccountNameEdit", name)
    desk.type_into("newAddressEdit", address)
    assert says in desk.texts


def test_an_address_is_completed_and_what_fails_there_stands_where_it_was_typed_until_it_is_changed(desk: Desk) -> None:
    at_address(desk)
    desk.type_into("newAccountNameEdit", "rack")
    desk.type_into("newAddressEdit", "models.example/v1")
    picked(desk, "How the key is sent").setCurrentIndex(2)
    desk.click("tryAddressButton")
    ((account, _),) = desk.connected
    assert account.address == "https://models.example/v1"
    desk.dialog.show_busy("Asking…")
    desk.dialog.show_failure(AgentError("The key was refused.", hint="Check it."))
    problem, below = (part(desk.dialog, QLabel, name) for name in ("addressProblem", "welcomeNote"))
    assert problem.text() == "The key was refused. Check it."
    assert not below.isVisible()
    desk.type_into("newAddressEdit", "/x")
    assert not problem.text()
    desk.dialog.show_connected(replace(CONNECTED, account=account))
    assert "Connected with rack (models.example)" in desk.texts


def test_without_a_keyring_a_key_is_offered_to_be_used_until_the_end(desk: Desk) -> None:
    at_key(desk)
    assert "kept in your system keyring" in desk.texts
    desk.dialog.show_found(Found(has_keyring=False))
    assert "used until you quit" in desk.texts
    assert "kept in your system keyring" not in desk.texts


# --- the end ---------------------------------------------------------------------------------------------------------


def test_it_ends_with_a_model_to_begin_with(desk: Desk) -> None:
    at_key(desk)
    desk.dialog.show_connected(CONNECTED)
    assert "Connected with Anthropic" in desk.texts
    box = picked(desk, "Model")
    assert box.currentText() == "claude-b"
    box.setCurrentIndex(0)
    desk.press(Qt.Key.Key_Return)
    assert desk.begun == [(ANTHROPIC, "claude-a")]


def test_where_no_model_is_listed_one_is_typed(desk: Desk) -> None:
    at_key(desk)
    desk.dialog.show_connected(replace(CONNECTED, models=(), usual_model="", note="Kept for this run only."))
    assert "Kept for this run only." in desk.texts
    assert not desk.button("beginButton").isEnabled()
    picked(desk, "Model").setEditText("my-model")
    desk.click("beginButton")
    assert desk.begun == [(ANTHROPIC, "my-model")]


# --- a cloud ---------------------------------------------------------------------------------------------------------

SAID = {"bedrock": {"region": "eu-central-1", "profile": "work"}, "vertex": {"project": "lab-1"}}


def test_the_step_begins_with_the_cloud_that_the_environment_names(desk: Desk) -> None:
    desk.dialog.show_found(Found(clouds={"bedrock": {}, "vertex": SAID["vertex"]}))
    desk.choose("Claude through AWS, Google or Microsoft")
    desk.click("cloudButton")
    assert picked(desk, "Cloud").currentData() == "vertex"


@pytest.mark.parametrize(
    ("provider", "fields"),
    [
        ("bedrock", {"region": "eu-central-1", "profile": "work"}),
        ("vertex", {"region": "", "project": "lab-1"}),
        ("foundry", {"resource": ""}),
        ("aws", {"region": "", "workspace_id": "", "profile": ""}),
    ],
)
def test_a_cloud_has_its_own_fields_which_the_environment_fills(
    desk: Desk, provider: str, fields: dict[str, str]
) -> None:
    desk.dialog.show_found(Found(clouds=SAID))
    at_cloud(desk, provider)
    assert cloud_fields(desk) == fields
    assert (picked(desk, "Credentials").count() == 2) == (provider != "vertex"), "Google has no keys for it"


def test_a_cloud_is_asked_with_what_its_fields_say(desk: Desk) -> None:
    desk.dialog.show_found(Found(clouds=SAID))
    at_cloud(desk, "vertex")
    desk.click("tryCloudButton")
    assert desk.connected == []
    assert "Missing: Region." in desk.texts
    desk.type_into("cloud_region", "Frankfurt am Main")
    desk.press(Qt.Key.Key_Return)
    assert desk.connected == []
    assert "region must be letters, digits" in desk.texts
    part_of = next(line for line in desk.dialog.findChildren(QLineEdit, "cloud_region"))
    part_of.setText("global")
    assert "region must be" not in desk.texts
    desk.press(Qt.Key.Key_Return)
    account = replace(usual_account("vertex"), cloud={"region": "global", "project": "lab-1"})
    assert desk.connected == [(account, "")]


def test_a_cloud_can_be_asked_with_a_key(desk: Desk) -> None:
    desk.dialog.show_found(Found(clouds=SAID, keys={"foundry": "ANTHROPIC_FOUNDRY_API_KEY"}))
    at_cloud(desk, "bedrock")
    access = picked(desk, "Credentials")
    access.setCurrentIndex(access.findData("key"))
    assert not desk.button("tryCloudButton").isEnabled()
    assert "kept in your system keyring" in desk.texts
    desk.dialog.show_found(Found(clouds=SAID, keys={"foundry": "ANTHROPIC_FOUNDRY_API_KEY"}, has_keyring=False))
    at_bedrock = picked(desk, "Cloud")
    at_bedrock.setCurrentIndex(at_bedrock.findData("bedrock"))
    access.setCurrentIndex(access.findData("key"))
    assert "kept in your system keyring" not in desk.texts
    desk.type_into("apiKeyEdit", "a-key-of-bedrock")
    desk.click("tryCloudButton")
    account = replace(usual_account("bedrock"), kind="key", cloud=SAID["bedrock"])
    assert desk.connected == [(account, "a-key-of-bedrock")]
    at = picked(desk, "Cloud")
    at.setCurrentIndex(at.findData("foundry"))
    assert "use the key in ANTHROPIC_FOUNDRY_API_KEY" in desk.texts


def test_who_asks_is_said_and_what_is_missing_stands_at_the_fields(desk: Desk) -> None:
    at_cloud(desk, "bedrock")
    desk.dialog.show_busy("Asking Amazon Bedrock…")
    assert desk.button("backButton").text() == "Cancel"
    desk.dialog.show_failure(AgentError("There are no credentials.", hint="Sign in with `aws sso login`."))
    assert part(desk.dialog, QLabel, "cloudProblem").text() == "There are no credentials. Sign in with “aws sso login”."
    who = "Requests go to https://bedrock.example with an API key."
    desk.dialog.show_connected(replace(CONNECTED, account=usual_account("bedrock"), who=who))
    assert who in desk.texts


def test_an_installed_agent_is_offered_beside_the_providers(desk: Desk) -> None:
    desk.dialog.show_found(Found(agents=tuple(InstalledAgent(name, title) for name, title in (
        ("claude", "Claude Code"), ("codex", "Codex"), ("goose", "Goose"))
    )))  # fmt: skip
    offered = {title for title in desk.cards if "which is installed" in title}
    assert offered == {"Use Claude Code, which is installed", "Use Codex, which is installed"}, "two are enough here"
    desk.choose("Use Codex, which is installed")
    desk.click("useAgentButton")
    assert desk.agents == ["codex"]
