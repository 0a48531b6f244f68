"""The page of other agents shows each one's state, and emits the user's requests."""

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox

from desktop_agent.core.agents.definition import AgentDefinition, AgentReport
from desktop_agent.core.agents.installed import known_agent
from desktop_agent.ui.settings.agents_page import AgentCard
from desktop_agent.ui.settings.settings_view import AgentsView, AgentView, Section
from tests.parts import part
from tests.ui.settings.desk import Desk

MINE = AgentDefinition(name="mine", command="my-agent", args=("--acp", "two words"), secrets=("API_KEY",), mode="plan")
CLAUDE = AgentView(definition=AgentDefinition(name="claude", command="claude-agent-acp"), title="Claude Code")


@pytest.fixture
def section() -> Section:
    return "agents"


class Page:
    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.asked = desk.asked_servers

    def show(self, *agents: AgentView, **more: object) -> None:
        self.desk.dialog.pages.agents.show_agents(replace(AgentsView(agents=agents), **more))
        self.desk.settle()

    @property
    def texts(self) -> list[str]:
        return self.desk.visible_texts()

    def choose(self, words: str) -> None:
        box = part(self.desk.dialog, QComboBox, "agentSandboxPicker")
        box.setCurrentIndex(box.findText(words, Qt.MatchFlag.MatchContains))


@pytest.fixture
def page(desk: Desk) -> Page:
    return Page(desk)


@pytest.mark.parametrize(
    ("agent", "says", "role"),
    [
        (AgentView(definition=MINE), "Starts when you choose it. A test says whether it works.", "secondary"),
        (AgentView(definition=MINE, missing="my-agent"), "There is no program my-agent.", "error"),
        (AgentView(definition=MINE, is_testing=True), "Starting…", "secondary"),
        (
            AgentView(definition=MINE, report=AgentReport(agent="Mine", version="1.2", modes=("ask", "plan"))),
            "It works: Mine 1.2",
            "good",
        ),
        (
            AgentView(definition=MINE, report=AgentReport(problem="It broke off.", hint="Try again.")),
            "It broke off. Try again.",
            "error",
        ),
        (
            AgentView(definition=MINE, report=AgentReport(problem="Mine is not signed in.", needs_sign_in=True)),
            "Mine is not signed in.",
            "warning",
        ),
        (
            AgentView(definition=MINE, report=AgentReport(problem="Files changed.", hint="See.", needs_answer=True)),
            "Files changed.",
            "warning",
        ),
    ],
)
def test_the_state_of_an_agent_is_said_in_words(page: Page, agent: AgentView, says: str, role: str) -> None:
    page.show(agent)
    state = next(
        note for note in page.desk.dialog.findChildren(AgentCard)[0].children() if note.objectName() == "agentState"
    )
    assert says in page.texts
    assert state.property("role") == role
    assert "Runs outside the sandbox, as in your terminal." in page.texts


def test_an_agent_whose_files_changed_leads_to_the_question_about_the_project(page: Page) -> None:
    theirs = AgentView(definition=replace(MINE, defined_by="project"))
    page.show(theirs)
    assert not page.desk.button("answerProjectButton").isVisible()
    page.show(replace(theirs, report=AgentReport(problem="Files changed.", needs_answer=True)))
    page.desk.click("answerProjectButton")
    page.desk.settle()
    assert page.desk.dialog.pages.shows("project")


def test_what_a_working_agent_offers_is_said(page: Page) -> None:
    report = AgentReport(agent="Mine", abilities=("images",), modes=("ask", "plan"))
    page.show(AgentView(definition=MINE, report=report))
    assert "supports images · modes: ask, plan" in page.texts


def test_an_agent_is_added_with_its_variables_and_confined(page: Page) -> None:
    page.show()
    desk = page.desk
    desk.click("addAgentButton")
    assert not desk.button("addAgentButton").isEnabled()
    assert any("It can do everything that you can do." in text for text in page.texts)
    page.choose("open folder")
    desk.line("Hosts that the agent may reach").setText("API.example.org, *.example.net")
    desk.line("Name of variable 1").setText("API_KEY")
    desk.line("Value of variable 1").setText("sesame")
    assert desk.line("Value of variable 1").echoMode() == desk.field.EchoMode.Password
    desk.line("Command line of the agent").setText("my-agent --acp 'two words'")
    desk.type_into("Name of the agent", "mine")

    assert page.asked == [
        (
            "add",
            AgentDefinition(
                name="mine",
                command="my-agent",
                args=("--acp", "two words"),
                env={"API_KEY": "sesame"},
                sandbox="restricted",
                hosts=("api.example.org", "*.example.net"),
            ),
        )
    ]
    assert desk.button("addAgentButton").isEnabled()


def test_an_agent_is_edited_and_keeps_what_the_form_does_not_show(page: Page) -> None:
    page.show(AgentView(definition=MINE))
    page.desk.click("editAgentButton")
    assert page.desk.line("Value of variable 1").placeholderText() == "In the keyring"
    page.choose("none of your files")
    page.desk.click("confirmAddAgentButton")
    assert page.asked == [("edit", replace(MINE, sandbox="strict"))]


def test_an_installed_agent_is_set_up_by_adding_it(page: Page) -> None:
    page.show(CLAUDE)
    assert "Claude Code" in page.texts
    assert not page.desk.button("removeAgentButton").isVisible()
    page.desk.click("editAgentButton")
    page.desk.line("Name of variable 1").setText("ANTHROPIC_API_KEY")
    page.desk.line("Value of variable 1").setText("x")
    page.desk.click("confirmAddAgentButton")
    assert page.asked == [("add", replace(CLAUDE.definition, env={"ANTHROPIC_API_KEY": "x"}))]


@pytest.mark.parametrize(
    ("name", "line", "says"),
    [
        ("mine", "x", "An agent with this name already exists."),
        ("two words", "x", "The agent cannot be added: name may have at most 32 letters, digits"),
        ("new", "", "The agent cannot be added: it needs a command line."),
        ("new", "'x", "The agent cannot be added: No closing quotation."),
    ],
)
def test_what_cannot_be_added_is_said_and_escape_closes_the_form(page: Page, name: str, line: str, says: str) -> None:
    page.show(AgentView(definition=MINE))
    page.desk.click("addAgentButton")
    page.desk.line("Command line of the agent").setText(line)
    page.desk.type_into("Name of the agent", name)
    assert any(text.startswith(says) for text in page.texts)
    assert page.asked == []
    QTest.keyClick(page.desk.line("Name of the agent"), Qt.Key.Key_Escape)
    assert not page.desk.line("Name of the agent").isVisible()
    assert page.desk.dialog.isVisible()


def test_an_agent_is_tested_and_removed_after_a_question(page: Page) -> None:
    page.show(AgentView(definition=MINE))
    page.desk.click("testAgentButton")
    page.desk.click("removeAgentButton")
    assert "Remove mine from your settings?" in page.texts
    page.desk.click("reallyRemoveAgentButton")
    assert page.asked == [("test", "mine"), ("remove", "mine")]


def test_a_projects_agent_cannot_be_changed_here(page: Page) -> None:
    page.show(AgentView(definition=replace(MINE, defined_by="project")))
    assert not page.desk.button("removeAgentButton").isVisible()
    assert not page.desk.button("editAgentButton").isVisible()
    assert page.desk.button("testAgentButton").isVisible()


def test_what_could_be_installed_and_zed_are_offered(page: Page) -> None:
    codex = known_agent("codex")
    assert codex is not None
    page.show(has_zed=True, not_installed=(codex,))
    assert [codex.title in page.texts, codex.install in page.texts] == [True, True]
    page.desk.click("zedAgentsButton")
    assert page.asked == [("take from zed",)]
    page.show()
    assert codex.title not in page.texts
    assert not page.desk.button("zedAgentsButton").isVisible()
