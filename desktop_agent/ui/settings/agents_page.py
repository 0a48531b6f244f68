"""The settings section about agents of other programs: a card for each, a form, and which could be installed."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import cast

from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QPushButton, QWidget

from desktop_agent.core.agents.definition import AgentDefinition, AgentReport, LoginWay, typed_agent
from desktop_agent.core.mcp.new_servers import kept_secrets
from desktop_agent.core.protocol.model import SandboxMode
from desktop_agent.core.system.processes.shell import joined_words
from desktop_agent.ui.settings.page_parts import (
    AddingForm,
    CardList,
    Page,
    Removal,
    VariableFields,
    answer_button,
    field_row,
)
from desktop_agent.ui.settings.settings_view import AgentsView, AgentView, SettingsActions
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.buttons import Picker, compact_button, make_button
from desktop_agent.ui.widgets.labels import ElidedLabel, Note, make_label, show_text
from desktop_agent.ui.widgets.layouts import STRETCH, add_parts, discard_all, hbox, vbox
from desktop_agent.ui.wording import plain_tooltip

_tr = partial(QCoreApplication.translate, "AgentWords")


def state_line(agent: AgentView) -> tuple[str, str]:
    """Return the agent's state in words, and the role of the text."""
    report = agent.report
    if agent.missing:
        return _tr("There is no program {0}.").format(agent.missing), "error"
    if agent.is_signing_in:
        return _tr("Signing in. The agent may have opened your browser."), "secondary"
    if agent.is_testing:
        return _tr("Starting…"), "secondary"
    if report is None:
        return _tr("Starts when you choose it. A test says whether it works."), "secondary"
    if report.problem:
        hint = "" if report.needs_answer or buttons_of(agent) else core_words(report.hint)
        role = "warning" if report.needs_sign_in or report.needs_answer else "error"
        return f"{core_words(report.problem)} {hint}".strip(), role
    return _tr("It works: {0}").format(f"{report.agent} {report.version}".strip()), "good"


def buttons_of(agent: AgentView) -> tuple[LoginWay, ...]:
    """Return the ways to sign in for which the card has buttons."""
    report = agent.report
    if report is None or not report.needs_sign_in or agent.is_signing_in:
        return ()
    return tuple(way for way in report.sign_ins if not way.variables)


def facts_line(report: AgentReport | None) -> str:
    if report is None or report.problem:
        return ""
    parts = [
        _tr("supports {0}").format(", ".join(map(core_words, report.abilities))) if report.abilities else "",
        _tr("modes: {0}").format(", ".join(report.modes)) if report.modes else "",
    ]
    return " · ".join(filter(None, parts))


class AgentCard(QFrame):
    def __init__(self, theme: Theme, agent: AgentView, page: Page, edit: Callable[[AgentView], None]) -> None:
        super().__init__()
        self.setObjectName("agentCard")
        self.setProperty("role", "surface")
        self._agent = agent
        actions = self._actions = page.settings_actions.agents
        self._edit_agent = edit
        self._name = make_label("", role="strong")
        self._where = ElidedLabel(takes_room=True)
        self._where.setFont(theme.code_font())
        self._state, self._facts = Note("", object_name="agentState"), Note("")
        self._confinement = Note("", object_name="agentConfinement")
        self._test = compact_button(object_name="testAgentButton", clicked=partial(actions.test, agent.name))
        self._edit = compact_button(object_name="editAgentButton", clicked=self._on_edit)
        self._ways: tuple[LoginWay, ...] = ()
        self._sign_ins = hbox(spacing=Space.S)
        self._answer = answer_button(agent.name, partial(page.section_wanted.emit, "project"))
        self._cancel = compact_button(self.tr("Cancel"), "cancelAgentSignInButton", clicked=actions.cancel_sign_in)
        self._removal = Removal(
            "removeAgentButton",
            "reallyRemoveAgentButton",
            "keepAgentButton",
            remove=partial(actions.remove, agent.name),
            changed=self._update_buttons,
            accessible_name=self.tr("Remove the agent {0}").format(agent.name),
            question=self.tr("Remove {0} from your settings?").format(agent.name),
        )
        head = hbox(self._name, (self._where, 1), spacing=Space.M)
        usual = (self._answer, self._sign_ins, self._cancel, self._test, self._edit)
        row = hbox(*usual, *self._removal.parts, STRETCH, spacing=Space.S)
        parts = (self._state, self._facts, self._confinement, Space.XS, row)
        vbox(head, *parts, on=self, spacing=Space.XS, margins=(0, Space.S, 0, Space.S))
        self._removal.ask(is_asking=False)
        self.show_agent(agent)

    def show_agent(self, agent: AgentView) -> None:
        """Show an agent. Emits no signal."""
        self._agent = agent
        self._name.setText(agent.title or agent.name)
        self._where.setText(agent.definition.where)
        self._where.setToolTip(plain_tooltip(agent.definition.where))
        text, role = state_line(agent)
        self._state.say(text, role)
        self._state.setAccessibleName(f"{agent.name}: {text}")
        self._state.setToolTip(plain_tooltip(agent.report.detail if agent.report is not None else ""))
        show_text(self._facts, facts_line(agent.report))
        self._confinement.setText(core_words(agent.definition.confinement))
        self._offer_sign_ins(buttons_of(agent))
        self._update_buttons()

    def _offer_sign_ins(self, ways: tuple[LoginWay, ...]) -> None:
        if ways == self._ways:
            return
        self._ways = ways
        discard_all(self._sign_ins)
        for way in ways:
            text = self.tr("Sign in…") if len(ways) == 1 else f"{way.name}…"
            button = compact_button(
                text.replace("&", "&&"),
                "agentSignInButton",
                clicked=partial(self._actions.sign_in, self._agent.name, way),
                accessible_name=self.tr("Sign in with {0}: {1}").format(self._agent.name, way.name),
                tooltip=plain_tooltip(way.description),
            )
            self._sign_ins.addWidget(button)

    def _update_buttons(self) -> None:
        agent, is_asking = self._agent, self._removal.is_asking
        edit = self.tr("Set up…") if agent.title else self.tr("Edit…")
        for button, text in ((self._test, self.tr("Test")), (self._edit, edit)):
            button.setText(text)
            button.setAccessibleName(f"{text} {agent.name}")
        self._test.setEnabled(not agent.is_testing and not agent.missing)
        is_idle = not is_asking and not agent.is_signing_in
        self._answer.setVisible(is_idle and agent.report is not None and agent.report.needs_answer)
        self._test.setVisible(is_idle)
        self._edit.setVisible(is_idle and (agent.is_mine or bool(agent.title)))
        self._cancel.setVisible(agent.is_signing_in)
        self._removal.button.setVisible(is_idle and agent.is_mine)

    def _on_edit(self) -> None:
        self._edit_agent(self._agent)


class AgentForm(AddingForm):
    confirmed = Signal(object)  # an AgentDefinition

    def __init__(self, button: QPushButton) -> None:
        super().__init__("agentProblem", button)
        self._names: tuple[str, ...] = ()
        self._before: AgentDefinition | None = None
        self._name = self.add_line("agentNameEdit", self.tr("Name of the agent"), self.tr("For example: reviewer"))
        where = self.tr("Command line of the agent"), self.tr("For example: my-agent --acp")
        self._where = self.add_line("agentWhereEdit", *where)
        self._variables = VariableFields(self, "agentVariableNameEdit", "agentVariableValueEdit", "API_KEY")
        choices: list[tuple[str, SandboxMode | None]] = [
            (self.tr("Outside the sandbox, as in your terminal"), None),
            (self.tr("In the sandbox: writes only the open folder"), "restricted"),
            (self.tr("In the sandbox: writes none of your files"), "strict"),
        ]
        self._sandbox = Picker(
            object_name="agentSandboxPicker", accessible_name=self.tr("Sandbox"), choices=choices, fills=True
        )
        self._sandbox.currentIndexChanged.connect(self._on_sandbox)
        hint = self.tr("None. For example: api.example.org, *.example.org")
        self._hosts = self.add_line("agentHostsEdit", self.tr("Hosts that the agent may reach"), hint)
        self._lay_out()

    def begin(self, names: tuple[str, ...], agent: AgentView | None = None) -> None:
        """Show the form for a new agent, for one that is installed, or for one that is defined."""
        self._names = names
        before = self._before = agent.definition if agent is not None else None
        shown = before or AgentDefinition(name="", command="")
        is_new = agent is None or not agent.is_mine
        self._name.setText(shown.name)
        self._name.setEnabled(agent is None)
        self._title.setText(self.tr("New agent") if is_new else self.tr("Edit {0}").format(shown.name))
        self._confirm.setText(self.tr("Add and test") if is_new else self.tr("Save and test"))
        self._where.setText(joined_words((shown.command, *shown.args)) if shown.command else "")
        self._variables.show_pairs(shown.env, shown.secrets)
        self._sandbox.setCurrentIndex(max(0, self._sandbox.findData(shown.sandbox)))
        self._hosts.setText(", ".join(shown.hosts))
        self._on_sandbox()
        self.enter()
        (self._name if agent is None else self._where).setFocus()

    def confirm(self) -> None:
        name, sandbox = self._name.text().strip(), cast("SandboxMode | None", self._sandbox.currentData())
        hosts = [host.strip() for host in self._hosts.text().split(",") if host.strip()] if sandbox else []
        try:
            typed = typed_agent(name, self._where.text(), dict(self._variables.pairs), sandbox, hosts)
        except ValueError as error:
            show_text(self.problem, self.tr("The agent cannot be added: {0}.").format(core_words(str(error))))
            return
        if self._before is None and name in self._names:
            show_text(self.problem, self.tr("An agent with this name already exists."))
            return
        if self._before is not None:
            secrets, env = kept_secrets(self._before.secrets, typed.env)
            typed = replace(typed, secrets=secrets, env=env, mode=self._before.mode)
        self.leave()
        self.confirmed.emit(typed)

    def _lay_out(self) -> None:
        add = self._confirm = make_button(self.tr("Add and test"), "confirmAddAgentButton", clicked=self.confirm)
        cancel = make_button(self.tr("Cancel"), "cancelAddAgentButton", clicked=self.cancelled.emit)
        title = self._title = make_label(self.tr("New agent"), role="strong")
        self._confined = QWidget()
        field_row(self.tr("May reach"), self._hosts, on=self._confined)
        self._words = Note("")
        vbox(
            title,
            field_row(self.tr("Name"), self._name),
            field_row(self.tr("Command"), self._where),
            self._variables.row(),
            field_row(self.tr("Sandbox"), self._sandbox, self._words),
            self._confined,
            field_row("", self.problem, hbox(add, cancel, STRETCH, spacing=Space.S)),
            on=self,
            spacing=Space.M,
        )

    def _on_sandbox(self) -> None:
        is_confined = self._sandbox.currentData() is not None
        self._confined.setVisible(is_confined)
        self._words.setText(
            self.tr("It needs the hosts of its model. A sign-in in your home folder is hidden from it.")
            if is_confined
            else self.tr("It can do everything that you can do. Add only what you trust.")
        )
        self.problem.hide()


class AgentsPage(Page):
    def __init__(self, title: str, theme: Theme, actions: SettingsActions) -> None:
        super().__init__(title, theme, actions)
        self._actions = actions.agents
        self._view = AgentsView()
        self._cards = CardList(self, self._make_card, AgentCard.show_agent)
        self._form: AgentForm | None = None
        self._is_new = True

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._actions.look()

    def _build(self) -> Iterator[None]:
        about = self.tr(
            "Claude Code, Codex and other agents that speak the Agent Client Protocol work in sessions here, with the "
            "review and the undo of this program. Those that are installed are listed."
        )
        self._problems = Note("", "warning")
        self._problems.hide()
        self._add = make_button(self.tr("Add agent…"), "addAgentButton", clicked=partial(self._begin, None))
        self._zed = make_button(self.tr("Import from Zed"), "zedAgentsButton", clicked=self._actions.take_from_zed)
        self._zed.setAccessibleName(self.tr("Import the agents of Zed"))
        self._zed.hide()
        add_parts(self.column, Note(about), self._problems)
        yield
        self.column.addLayout(hbox(self._add, self._zed, STRETCH, spacing=Space.S))
        self._form_place = vbox()
        add_parts(self.column, self._form_place, self._cards.column)
        yield
        self._missing_title = make_label(self.tr("Not installed"), role="heading")
        self._missing = vbox(spacing=Space.XS)
        add_parts(self.column, Space.XS, self._missing_title, self._missing, STRETCH)

    def show_agents(self, view: AgentsView) -> None:
        self._view = view
        self.show_later("agents", self._show_agents)

    def _show_agents(self) -> None:
        view = self._view
        self._cards.show(view.agents, self._add)
        show_text(self._problems, "\n".join(view.problems))
        self._zed.setVisible(view.has_zed)
        self._missing_title.setVisible(bool(view.not_installed))
        discard_all(self._missing)
        for known in view.not_installed:
            row = QWidget()
            install = make_label(known.install, is_plain=True, is_selectable=True)
            install.setFont(self.theme.code_font())
            field_row(known.title, install, on=row)
            self._missing.addWidget(row)

    def _make_card(self, agent: AgentView) -> AgentCard:
        return AgentCard(self.theme, agent, self, self._begin)

    def _begin(self, agent: AgentView | None) -> None:
        if self._form is None:
            self._form = AgentForm(self._add)
            self._form.confirmed.connect(self._on_confirmed)
            self._form_place.addWidget(self._form)
        self._is_new = agent is None or not agent.is_mine
        self._form.begin(tuple(one.name for one in self._view.agents if not one.title), agent)

    def _on_confirmed(self, agent: AgentDefinition) -> None:
        (self._actions.add if self._is_new else self._actions.edit)(agent)
