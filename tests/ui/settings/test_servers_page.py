"""The page of MCP servers shows each one's state, and emits the user's requests."""

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import Struct, field
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QLineEdit, QPushButton

from desktop_agent.core.mcp.definition import Address, DefinedBy, Program, ServerDefinition, ServerSandbox
from desktop_agent.core.mcp.new_servers import KNOWN_SERVERS, KnownServer, known_server, typed_definition
from desktop_agent.core.mcp.server_status import LastCall, ServerFacts, ServerStatus
from desktop_agent.ui.settings.server_card import ToolRow
from desktop_agent.ui.settings.servers_page import ServersPage
from desktop_agent.ui.settings.settings_view import Section, ServersView, ServerView, SignInProgress, ToolView
from tests.parts import part
from tests.ui.settings.desk import Desk

GIT = ServerDefinition(
    name="git", reached_by=Program(command="uvx", args=("mcp-server-git",)), disabled_tools=("git_log",)
)
FACTS = ServerFacts(protocol="2025-11-25", era="handshake", name="mcp-git", version="1.2", has_tools=True)
TOOLS = (
    ToolView(name="git_status", about="Shows what is changed\u202e", tokens=120),
    ToolView(name="git_log", about="Shows commits", tokens=80),
)


@pytest.fixture
def section() -> Section:
    return "mcp"


class Page(Struct):
    desk: Desk
    asked: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])

    def show(self, *servers: ServerView, problems: tuple[str, ...] = ()) -> None:
        self.desk.dialog.pages.servers.show_servers(ServersView(servers=servers, problems=problems))
        self.desk.settle()

    @property
    def servers(self) -> ServersPage:
        found = self.desk.dialog.page
        assert isinstance(found, ServersPage)
        return found

    def unfold(self, button: str) -> None:
        self.desk.click(button)
        self.desk.settle()


@pytest.fixture
def page(desk: Desk) -> Page:
    return Page(desk, desk.asked_servers)


def view(state: str = "idle", **more: Any) -> ServerView:
    status = ServerStatus(name="git", state=state, facts=FACTS, **more)  # pyright: ignore[reportArgumentType] -- a state
    return ServerView(definition=GIT, status=status, tools=TOOLS, log="hello\nworld")


def test_without_a_server_it_says_what_one_is_and_one_that_runs_says_who_it_is_and_what_its_tools_cost(
    page: Page,
) -> None:
    page.show()
    assert any("An MCP server is" in text for text in page.desk.visible_texts())
    assert page.desk.button("addServerButton").isVisible()
    page.show(view("ready"), problems=("config.toml:9: no command",))
    texts = page.desk.visible_texts()
    assert not any("An MCP server is" in text for text in texts)
    assert {"git", "uvx mcp-server-git", "Running", "config.toml:9: no command"} <= set(texts)
    who = "mcp-git 1.2 · protocol 2025-11-25 (with a handshake) · 1 of 2 tools, about 120 tokens in each request"
    assert who in texts


def test_a_card_says_what_of_its_server_is_not_used_and_which_tools_cannot_be(page: Page) -> None:
    facts = replace(FACTS, unused=("tasks", "io.example/maps"))
    tool = ToolView(name="git_watch", about="It runs only as a task.", tokens=50, is_usable=False)
    status = ServerStatus(name="git", state="ready", facts=facts)
    page.show(ServerView(definition=GIT, status=status, tools=(*TOOLS, tool)))
    page.unfold("serverToolsButton")

    texts = page.desk.visible_texts()
    assert any(text.endswith("about 120 tokens in each request · Not used: tasks, io.example/maps") for text in texts)
    assert "It runs only as a task." in texts
    row = page.desk.dialog.findChildren(ToolRow)[-1]
    assert (row.switch.isChecked(), row.switch.isEnabled()) == (False, False)


def test_a_server_that_failed_says_why_and_what_can_be_done(page: Page) -> None:
    page.show(view("resting", problem="It ended with code 1.", hint="Install it."))
    texts = page.desk.visible_texts()
    assert "Failed too often. Restart it once the cause is fixed." in texts
    assert "It ended with code 1. Install it." in texts
    page.desk.click("restartServerButton")
    assert page.asked == [("restart", "git")]
    page.show(view("starting"))
    assert not page.desk.button("restartServerButton").isEnabled()


def test_a_server_whose_files_changed_says_that_it_waits_and_for_what(page: Page) -> None:
    page.show(view("waiting", problem="Files that it runs are not as you trusted them.", hint="Look at them."))
    texts = page.desk.visible_texts()
    assert "Waiting for your answer about the project or the plugin." in texts
    assert "Files that it runs are not as you trusted them." in texts
    assert not any(text.startswith("Failed") for text in texts)


@pytest.mark.parametrize(("defined_by", "leads_to"), [("project", "project"), ("plugin", "plugins")])
def test_a_server_that_waits_leads_to_the_question_that_it_waits_for(
    page: Page, defined_by: DefinedBy, leads_to: Section
) -> None:
    page.show(view())
    assert not page.desk.button("answerProjectButton").isVisible()
    waits = view("waiting", problem="Its files have changed.")
    page.show(replace(waits, definition=replace(GIT, defined_by=defined_by)))
    page.desk.click("answerProjectButton")
    page.desk.settle()
    assert page.desk.dialog.pages.shows(leads_to)


def test_tools_and_the_log_unfold_and_stay_so_while_the_server_changes(page: Page) -> None:
    page.show(view())
    assert not page.desk.dialog.findChildren(ToolRow), "they are made only when they are unfolded"
    page.unfold("serverToolsButton")
    assert len(page.desk.dialog.findChildren(ToolRow)) == len(TOOLS)
    page.unfold("serverLogButton")
    page.show(view("ready"))
    texts = page.desk.visible_texts()
    assert {"git_status", "120 tokens", "Shows what is changed⟨U+202E⟩"} <= set(texts)
    assert page.desk.switch("Use the tool git_status").isChecked()
    assert not page.desk.switch("Use the tool git_log").isChecked()
    page.desk.switch("Use the tool git_log").click()
    page.desk.switch("Use the server git").click()
    assert page.asked == [("switch tool", "git", "git_log", True), ("switch", "git", False)]


def test_a_server_is_removed_only_after_a_question(page: Page) -> None:
    page.show(view())
    page.desk.click("removeServerButton")
    assert page.desk.button("keepServerButton").hasFocus()
    page.desk.click("keepServerButton")
    assert page.asked == []
    page.desk.click("removeServerButton")
    page.desk.click("reallyRemoveServerButton")
    assert page.asked == [("remove", "git")]


def test_what_a_project_defines_is_not_changed_here(page: Page) -> None:
    theirs = ServerDefinition(name="git", reached_by=GIT.reached_by, defined_by="project")
    page.show(ServerView(definition=theirs, status=ServerStatus(name="git"), tools=TOOLS))
    assert not page.desk.switch("Use the server git").isEnabled()
    assert not page.desk.button("removeServerButton").isVisible()
    assert page.desk.button("restartServerButton").text() == "Test"


def test_a_server_is_added_by_its_command_line_or_address(page: Page) -> None:
    page.show(view())
    page.desk.click("addServerButton")
    page.desk.type_into("Name of the server", "git")
    page.desk.type_into("Command line or address of the server", "uvx x")
    assert "A server with this name already exists." in page.desk.visible_texts()
    page.desk.type_into("Name of the server", "my files")
    assert any("a name may have" in text for text in page.desk.visible_texts())
    page.desk.line("Name of the server").setText("files")
    page.desk.type_into("Command line or address of the server", "npx -y 'a b' .")
    assert page.asked == [("add", typed_definition("files", "npx -y 'a b' ."))]


def test_a_server_is_added_with_what_confines_it(page: Page) -> None:
    page.show()
    page.desk.click("addServerButton")
    page.desk.line("Name of the server").setText("files")
    page.desk.line("Command line or address of the server").setText("npx files")
    assert any("Not sandboxed" in text for text in page.desk.visible_texts())
    page.desk.switch("Run the server in the sandbox").click()
    page.desk.line("Folders that the server may write").setText(" ., ~/notes ,")
    page.desk.line("Folders of your home that the server may read").setText("~/.config/files")
    page.desk.type_into("Hosts that the server may reach", "https://example.org")
    assert any("which is not a host" in text for text in page.desk.visible_texts())
    page.desk.type_into("Hosts that the server may reach", "Example.org, *.example.net")
    sandbox = ServerSandbox(
        folders=(".", "~/notes"), read_folders=("~/.config/files",), hosts=("example.org", "*.example.net")
    )
    assert page.asked == [("add", typed_definition("files", "npx files", sandbox))]


def test_what_runs_elsewhere_is_not_asked_about_the_sandbox(page: Page) -> None:
    page.show()
    page.desk.click("addServerButton")
    switch = page.desk.switch("Run the server in the sandbox")
    switch.click()
    page.desk.line("Command line or address of the server").setText("https://mcp.example/")
    assert not switch.isVisible()
    page.desk.type_into("Name of the server", "far")
    assert page.asked == [("add", typed_definition("far", "https://mcp.example/"))]


def test_a_card_says_what_confines_its_server(page: Page) -> None:
    page.show(view())
    assert "Not confined: it can do all that you can do." in page.desk.visible_texts()
    sandbox = ServerSandbox(folders=(".",), hosts=("example.org",))
    confined = ServerDefinition(name="git", reached_by=Program(command="uvx", sandbox=sandbox))
    page.show(ServerView(definition=confined, status=ServerStatus(name="git")))
    words = "Confined: it writes the open folder and reaches example.org."
    assert words in page.desk.visible_texts()
    elsewhere = ServerDefinition(name="git", reached_by=Address(url="https://mcp.example"))
    page.show(ServerView(definition=elsewhere, status=ServerStatus(name="git")))
    assert not any("onfined" in text for text in page.desk.visible_texts())


def test_escape_closes_the_form_and_not_the_dialog(page: Page) -> None:
    page.show()
    page.desk.click("addServerButton")
    QTest.keyClick(page.desk.line("Name of the server"), Qt.Key.Key_Escape)
    assert page.desk.dialog.isVisible()
    assert page.desk.button("addServerButton").hasFocus()
    assert not page.desk.dialog.findChild(QPushButton, "confirmAddServerButton").isVisible()  # pyright: ignore[reportOptionalMemberAccess] -- it is there


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("", "needs a command line"),
        ("uvx 'a", "No closing quotation"),
        ("https://me:secret@mcp.example/", "before the @"),
    ],
)
def test_what_cannot_be_started_or_reached_is_said(where: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        typed_definition("a", where)


def test_a_typed_command_line_is_split_as_a_shell_does() -> None:
    program = typed_definition(" a ", "npx -y 'a b' .").reached_by
    assert program == Program(command="npx", args=("-y", "a b", "."))
    assert typed_definition("a", " https://mcp.example/ ").where == "https://mcp.example/"


def test_a_known_server_is_chosen_with_what_it_is_good_for_needs_and_is_confined_by(page: Page) -> None:
    page.show()
    page.desk.click("addServerButton")
    box = page.desk.picker("Known servers")
    box.setCurrentIndex(box.findText("playwright"))
    assert any("Drives a browser" in text for text in page.desk.visible_texts())
    assert "It needs: Node.js, for npx." in page.desk.visible_texts()
    page.desk.click("confirmAddServerButton")
    assert page.asked == [("add", typed_definition("playwright", "npx -y @playwright/mcp@latest"))]
    page.asked.clear()
    page.desk.click("addServerButton")
    box.setCurrentIndex(box.findText("filesystem"))
    assert page.desk.switch("Run the server in the sandbox").isChecked()
    assert page.desk.line("Folders that the server may write").text() == "."
    box.setCurrentIndex(box.findText("playwright"))
    assert not page.desk.switch("Run the server in the sandbox").isChecked()
    box.setCurrentIndex(box.findText("fetch"))
    page.desk.click("confirmAddServerButton")
    known = known_server("fetch")
    assert page.asked == [("add", typed_definition("fetch", known.where, ServerSandbox(hosts=("*",))))]


@pytest.mark.usefixtures("german")
def test_what_a_server_may_do_and_is_for_is_said_in_the_language_of_the_window(page: Page) -> None:
    page.show(view())
    assert "Nicht eingeschränkt: Er kann alles, was Sie können." in page.desk.visible_texts()
    page.desk.click("addServerButton")
    box = part(page.desk.dialog, QComboBox, "knownServerPicker")
    box.setCurrentIndex(box.findText("playwright"))
    about = "Steuert einen Browser: öffnet Seiten, klickt, tippt und nimmt Bilder auf."
    assert {about, "Er braucht: Node.js, für npx."} <= set(page.desk.visible_texts())


@pytest.mark.parametrize("known", KNOWN_SERVERS, ids=lambda known: known.name)
def test_every_known_server_can_be_defined_as_it_is(known: KnownServer) -> None:
    server = typed_definition(known.name, known.where, known.sandbox)
    assert server.where == known.where
    assert server.confinement == known.confinement


def test_tools_that_change_keep_the_rows_of_those_that_stay_in_the_servers_order(page: Page) -> None:
    page.show(view())
    page.unfold("serverToolsButton")
    kept = page.desk.switch("Use the tool git_log")
    kept.setFocus()
    tools = (TOOLS[1], ToolView(name="git_show", about="Shows one", tokens=7), replace(TOOLS[0], tokens=99))
    page.show(replace(view(), tools=tools))
    rows = sorted(page.desk.dialog.findChildren(ToolRow), key=lambda row: row.y())
    names = [row.switch.accessibleName().rpartition(" ")[2] for row in rows if row.isVisible()]
    assert names == ["git_log", "git_show", "git_status"]
    assert "99 tokens" in page.desk.visible_texts()
    assert page.desk.switch("Use the tool git_log") is kept
    assert kept.hasFocus()
    page.show(replace(view(), tools=()))
    assert not any(row.isVisible() for row in page.desk.dialog.findChildren(ToolRow))


def called(*calls: LastCall) -> ServerView:
    return ServerView(definition=GIT, status=ServerStatus(name="git", state="ready", facts=FACTS, last_calls=calls))


def call(tool: str, minute: int, problem: str = "") -> LastCall:
    return LastCall(tool=tool, at=datetime(2026, 11, 25, 12, minute, tzinfo=UTC), duration_s=0.25, problem=problem)


def test_a_card_unfolds_the_last_calls_the_newest_first_and_follows_them(page: Page) -> None:
    page.show(called())
    assert not page.desk.button("serverCallsButton").isVisible()
    first, second = call("git_log\u202e", 1), call("git_commit", 2, "The server\nreported a failure.")
    page.show(called(first, second))
    page.unfold("serverCallsButton")
    texts = page.desk.visible_texts()
    assert {"git_log⟨U+202E⟩", "Answered", "git_commit", "The server", "250 ms"} <= set(texts)
    assert texts.index("git_commit") < texts.index("git_log⟨U+202E⟩")
    page.show(called(first, second, *(call(f"tool{number}", number) for number in range(10))))
    texts = page.desk.visible_texts()
    assert {f"tool{number}" for number in range(10)} <= set(texts)
    assert "git_commit" not in texts
    page.show(called(first))
    assert "tool1" not in page.desk.visible_texts()
    page.unfold("serverCallsButton")
    assert "250 ms" not in page.desk.visible_texts()


FAR = ServerDefinition(name="far", reached_by=Address(url="https://mcp.example"))


def wanting(**more: Any) -> ServerView:
    status = ServerStatus(
        name="far", state="failed", problem="It needs you to sign in.", hint="Sign in: `x`.", needs_sign_in=True
    )
    return ServerView(definition=FAR, status=status, **more)


def test_a_server_that_wants_a_sign_in_offers_it_and_shows_how_far_it_is(page: Page) -> None:
    page.show(ServerView(definition=FAR, status=ServerStatus(name="far")))
    assert not page.desk.button("serverSignInButton").isVisible()
    page.show(wanting())
    assert page.desk.visible_texts().count("It needs you to sign in.") == 1
    page.desk.click("serverSignInButton")
    page.show(wanting(sign_in=SignInProgress()))
    assert "Preparing the sign-in…" in page.desk.visible_texts()
    assert not page.desk.button("serverSignInButton").isVisible()
    page.show(wanting(sign_in=SignInProgress(address="https://login.example/?state=x", is_open=False)))
    address = page.servers.findChild(QLineEdit, "signInAddressEdit")
    assert isinstance(address, QLineEdit)
    assert address.text() == "https://login.example/?state=x"
    page.desk.click("cancelServerSignInButton")
    assert page.asked == [("sign in", "far"), ("cancel sign-in", "far")]
    page.show(wanting())
    assert not address.isVisible()


def test_a_server_at_an_address_is_added_with_headers_and_a_client_that_are_not_shown(page: Page) -> None:
    page.show()
    page.desk.click("addServerButton")
    page.desk.line("Name of the server").setText("far")
    assert not page.desk.line("Name of header 1").isVisible()
    page.desk.line("Command line or address of the server").setText("https://mcp.example/")
    page.desk.line("Name of header 1").setText("Authorization")
    page.desk.line("Value of header 1").setText("Bearer sesame")
    page.desk.type_into("Value of header 2", "blue")
    assert any("a header needs a name" in text for text in page.desk.visible_texts())
    page.desk.line("Name of header 2").setText("X-Team")
    assert not page.desk.line("Client secret at the server").isVisible()
    page.desk.line("Client ID at the server").setText("desk")
    for hidden in ("Value of header 1", "Value of header 2", "Client secret at the server"):
        assert page.desk.line(hidden).echoMode() is QLineEdit.EchoMode.Password
    page.desk.type_into("Client secret at the server", "shh")
    headers = (("Authorization", "Bearer sesame"), ("X-Team", "blue"))
    assert page.asked == [("add", typed_definition("far", "https://mcp.example/", None, headers, "desk"), "shh")]
    page.desk.click("addServerButton")
    page.desk.line("Command line or address of the server").setText("https://mcp.example/")
    assert page.desk.line("Value of header 1").text() == ""
    assert page.desk.line("Client ID at the server").text() == ""


def test_a_server_is_edited_and_what_the_form_does_not_ask_for_stays(page: Page) -> None:
    before = replace(GIT, reached_by=Program(command="uvx", args=("a b",), env={"A": "1"}, secret_env=("KEY",)))
    page.show(ServerView(definition=before, status=ServerStatus(name="git")))

    page.desk.click("editServerButton")
    assert page.desk.line("Name of the server").text() == "git"
    assert not page.desk.line("Name of the server").isEnabled()
    assert page.desk.line("Command line or address of the server").text() == "uvx 'a b'"
    assert page.desk.line("Value of variable 1").echoMode() is QLineEdit.EchoMode.Normal
    assert page.desk.line("Value of variable 2").placeholderText() == "In the keyring"
    page.desk.line("Name of variable 3").setText("API_TOKEN")
    page.desk.line("Value of variable 3").setText("sesame")
    assert page.desk.line("Value of variable 3").echoMode() is QLineEdit.EchoMode.Password
    page.desk.line("Command line or address of the server").clear()
    page.desk.type_into("Command line or address of the server", "uvx c")

    env = {"A": "1", "API_TOKEN": "sesame"}
    after = Program(command="uvx", args=("c",), env=env, secret_env=("KEY",))
    assert page.asked == [("edit", replace(before, reached_by=after))]
    page.desk.click("addServerButton")
    assert page.desk.line("Name of the server").isEnabled()
    assert page.desk.line("Name of the server").text() == ""


def test_a_secret_header_that_is_not_typed_again_stays_in_the_keyring(page: Page) -> None:
    address = Address(url="https://one.example/", headers={"Team": "blue"}, secret_headers=("Authorization", "X-Key"))
    page.show(ServerView(definition=replace(GIT, reached_by=address), status=ServerStatus(name="git")))

    page.desk.click("editServerButton")
    assert page.desk.line("Value of header 2").text() == ""
    assert page.desk.line("Value of header 2").placeholderText() == "In the keyring"
    page.desk.type_into("Value of header 3", "new")

    after = replace(address, headers={"Team": "blue", "X-Key": "new"}, secret_headers=("Authorization",))
    assert page.asked == [("edit", replace(GIT, reached_by=after))]


def test_a_variable_that_is_taken_out_of_the_form_is_taken_out_of_the_definition(page: Page) -> None:
    before = replace(GIT, reached_by=Program(command="uvx", env={"A": "1", "B": ""}, secret_env=("KEY",)))
    page.show(ServerView(definition=before, status=ServerStatus(name="git")))
    page.desk.click("editServerButton")
    for number in (1, 3):
        page.desk.line(f"Name of variable {number}").clear()
        page.desk.line(f"Value of variable {number}").clear()
    page.desk.click("confirmAddServerButton")
    assert page.asked == [("edit", replace(GIT, reached_by=Program(command="uvx", env={"B": ""})))]


def test_a_card_names_the_secrets_that_stand_in_plain_text_and_how_they_are_moved(page: Page) -> None:
    program = Program(command="uvx", env={"LEVEL": "1", "API_TOKEN": "sesame"})
    page.show(ServerView(definition=replace(GIT, reached_by=program), status=ServerStatus(name="git")))
    (said,) = [text for text in page.desk.visible_texts() if text.startswith("In plain text in your settings:")]
    assert "API_TOKEN" in said
    assert "LEVEL" not in said
    assert "sesame" not in said


def test_a_server_that_failed_its_first_test_is_asked_about_once(page: Page) -> None:
    question = "The test failed. Remove git from your settings?"
    page.show(replace(view("failed", problem="x"), is_unsure=True))
    assert question in page.desk.visible_texts()
    page.desk.click("keepServerButton")
    page.show(replace(view("failed", problem="y"), is_unsure=True))
    assert question not in page.desk.visible_texts()
    page.desk.click("removeServerButton")
    assert "Remove git from your settings?" in page.desk.visible_texts()
    page.desk.click("reallyRemoveServerButton")
    assert page.asked == [("keep", "git"), ("remove", "git")]
