"""The settings sections about the project, and about skills, hooks and language servers.

The project's section shows what its settings file changes, what else it brings, and the user's answer. The others list
their items, each with its place, its state, and a switch.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import cast

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QVBoxLayout

from desktop_agent.core.agents.definition import AgentDefinitions, read_agents
from desktop_agent.core.base.plain_text import named, shortened
from desktop_agent.core.base.regex import regex
from desktop_agent.core.mcp.definition_file import Definitions, read_definitions
from desktop_agent.core.settings.loading import FileProblem
from desktop_agent.core.settings.values import declared_settings, value_of
from desktop_agent.core.settings.workspace_settings import ProjectItem, ProjectProposal, Tightened
from desktop_agent.ui.settings.page_parts import CardList, Page, answer_button, settings_of, shown
from desktop_agent.ui.settings.setting_controls import words
from desktop_agent.ui.settings.settings_view import (
    ExtensionKind,
    ExtensionsView,
    ExtensionView,
    SettingsActions,
    section_title,
)
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation import answer_words, core_words
from desktop_agent.ui.widgets.buttons import Switch, make_button
from desktop_agent.ui.widgets.labels import ElidedLabel, Note, make_label, show_text
from desktop_agent.ui.widgets.layouts import STRETCH, add_parts, discard_all, hbox, set_names, vbox
from desktop_agent.ui.wording import plain_tooltip, short_path, visible_line

_LONGEST_LINE = 600
"""The longest line of untrusted text that is shown, in characters, because it must not fill the window."""
_MOST_TEXTS = 40
_LONG_WORD = regex(r"(\S{40})(?=\S)")


class ProjectPage(Page):
    def _build(self) -> Iterator[None]:
        self._path = Note("")
        self._answer = make_label(role="strong")
        self._lines = QVBoxLayout()
        self._lines.setSpacing(Space.S)
        answer = self.settings_actions.answer_project
        trust, ignore = self.tr("Trust the project"), self.tr("Ignore what the project brings")
        self._trust = make_button(
            self.tr("Trust"), "trustProjectButton", accessible_name=trust, clicked=partial(answer, "trusted")
        )
        self._ignore = make_button(
            self.tr("Ignore"), "ignoreProjectButton", accessible_name=ignore, clicked=partial(answer, "ignored")
        )
        about = self.tr(
            "A project's settings can only make the rules stricter, and define MCP servers and agents. They apply once "
            "you trust the project, and wait again when they, or files that its servers run, change; so do its hooks, "
            "language servers and plugins. "
            "Its skills and sub-agents are text for the model: once trusted, they still apply when they change."
        )
        buttons = hbox(self._trust, self._ignore, STRETCH, spacing=Space.S)
        add_parts(self.column, Note(about), self._path, self._answer, self._lines, buttons, STRETCH)
        yield

    def show_proposal(self, proposal: ProjectProposal, answer: str | None) -> None:
        self.show_later("proposal", partial(self._show_proposal, proposal, answer))

    def _show_proposal(self, proposal: ProjectProposal, answer: str | None) -> None:
        self._path.setText(short_path(str(proposal.path)))
        heads = {
            "trusted": self.tr("You trust this project. It brings:"),
            "ignored": self.tr("You ignore what this project would bring:"),
            None: self.tr("This project is waiting for your answer. It would bring:"),
        }
        self._answer.setText(heads[answer])
        discard_all(self._lines)
        servers, agents = read_definitions(proposal.tables), read_agents(proposal.tables)
        changes = change_lines(proposal.changes)
        if not (changes or servers.servers or agents.agents or proposal.items):
            changes = [self.tr("Nothing, because these settings already apply or are refused.")]
        for text in changes:
            self._lines.addWidget(Note(text, "text"))
        about = self.tr("These MCP servers could start. Servers not marked as confined can do everything you can:")
        if answer == "trusted":
            about = self.tr("These MCP servers may start. Servers not marked as confined can do everything you can:")
        self._show_programs(about, server_lines(servers, proposal))
        about_agents = self.tr("You could choose these agents. Those not marked as confined can do everything you can:")
        self._show_programs(about_agents, agent_lines(agents, proposal))
        about_run = self.tr("These hooks and plugins would run as you do, outside the sandbox:")
        self._show_programs(about_run, program_lines(proposal))
        about_checks = self.tr("These language servers would run in the sandbox, where they read the folder:")
        self._show_programs(about_checks, checker_lines(proposal))
        about_imports = self.tr("The model would see these files from outside the folder:")
        self._show_programs(about_imports, import_lines(proposal.items))
        self._show_texts(proposal.items)
        for text in problem_lines((*proposal.problems, *servers.problems, *agents.problems)):
            self._lines.addWidget(Note(text, "warning"))
        is_readable = not any(problem.is_about_the_file for problem in proposal.problems)
        self._trust.setVisible(answer != "trusted" and is_readable)
        self._ignore.setVisible(answer != "ignored")

    def _show_texts(self, items: Sequence[ProjectItem]) -> None:
        texts = [item for item in items if item.is_text]
        if texts:
            self._lines.addWidget(Note(self.tr("The model would see these names, and could ask for their text:")))
        for item in texts[:_MOST_TEXTS]:
            about = f"{item.name}: {item.detail} ({short_path(str(item.path))})"
            self._lines.addWidget(Note(drawn(about), "text"))
        if more := texts[_MOST_TEXTS:]:
            self._lines.addWidget(Note(self.tr("And {0} more.").format(len(more)), "text"))

    def _show_programs(self, about: str, lines: Sequence[str]) -> None:
        if lines:
            self._lines.addWidget(Note(about, "warning"))
        for text in lines:
            label = make_label(text, object_name="projectServer", wraps=True, is_plain=True, is_selectable=True)
            self._lines.addWidget(label)


def change_lines(changes: Sequence[Tightened]) -> list[str]:
    """Return a line for each change, shortened so that it cannot start another line or hide text."""
    lines: list[str] = []
    for change in changes:
        setting = declared_settings()[change.key]
        before, after = shown(setting, change.before), shown(setting, change.after)
        lines.append(drawn(f"{words(setting.about.title)}: {before} → {after}"))
    return lines


def server_lines(servers: Definitions, proposal: ProjectProposal) -> list[str]:
    """Return a line, not shortened, for each server that may start if the project is trusted."""
    off = QCoreApplication.translate("ProjectPage", "{0} (switched off)")
    lines: list[str] = []
    for server in servers.servers:
        line = _marked(f"{server.name}: {server.in_full}", proposal.files_of("MCP server", server.name), proposal)
        lines.append(_breakable(line if server.is_enabled else off.format(line)))
    return lines


def agent_lines(agents: AgentDefinitions, proposal: ProjectProposal) -> list[str]:
    """Return a line, not shortened, for each agent that could be chosen if the project is trusted."""
    return [
        _breakable(_marked(f"{agent.name}: {agent.in_full}", proposal.files_of("agent program", agent.name), proposal))
        for agent in agents.agents
    ]


def program_lines(proposal: ProjectProposal) -> list[str]:
    """Return a line, not shortened, for each hook and plugin that would run something if the project is trusted."""
    return [_program_line(item, proposal) for item in proposal.items if item.is_program]


def checker_lines(proposal: ProjectProposal) -> list[str]:
    """Return a line, not shortened, for each language server that would run if the project is trusted."""
    return [_program_line(item, proposal) for item in proposal.items if item.kind == "language server"]


def _program_line(item: ProjectItem, proposal: ProjectProposal) -> str:
    return _breakable(_marked(f"{named(item.name)}: {named(item.detail)}", item, proposal))


def _marked(line: str, item: ProjectItem | None, proposal: ProjectProposal) -> str:
    """Return a line with the item's digest, if its answer depends on it, and whether it has changed."""
    if item is None:
        return line
    files = f"{item.detail} " if item.is_files else ""
    line = f"{line} [{files}{item.digest[:12]}]"
    changed = QCoreApplication.translate("ProjectPage", "{0} (changed since you answered)")
    return changed.format(line) if item.key in proposal.changed else line


def import_lines(items: Sequence[ProjectItem]) -> list[str]:
    return [_breakable(named(item.name)) for item in items if item.kind == "import"]


def problem_lines(problems: Sequence[FileProblem]) -> list[str]:
    return [
        drawn(
            f"{problem.path.name}:{problem.line or 1}: {problem.key}: {problem.message}"
            if problem.key
            else f"{problem.path.name}: {problem.message}"
        )
        for problem in problems
    ]


def drawn(line: str) -> str:
    """Return untrusted text as one line that can be shown: shortened, without invisible characters, and breakable."""
    return _breakable(shortened(visible_line(line).text, _LONGEST_LINE))


def _breakable(text: str) -> str:
    return _LONG_WORD.sub("\\1\u200b", text)


class ExtensionCard(QFrame):
    def __init__(self, theme: Theme, item: ExtensionView, page: "ExtensionsPage") -> None:
        super().__init__()
        self.setObjectName("extensionCard")
        self.setProperty("role", "surface")
        self._page = page
        self._item = item
        title = visible_line(item.title).text
        self._switch = Switch(theme)
        uses = {
            "skills": self.tr("Use the skill {0}"),
            "hooks": self.tr("Run the hook {0}"),
            "diagnostics": self.tr("Use the language server {0}"),
        }
        set_names(self._switch, "extensionSwitch", uses[page.kind].format(title))
        self._switch.clicked.connect(self._on_switch)
        self._place = ElidedLabel(Qt.TextElideMode.ElideMiddle, role="secondary", takes_room=True)
        self._tokens = make_label("", role="secondary")
        self._about, self._state = Note("", "text"), Note("", object_name="extensionState")
        if page.kind != "skills":
            self._about.setFont(theme.code_font())
        self._answer = answer_button(title, self._on_answer)
        name = make_label(title, role="strong", is_plain=True)
        head = hbox(self._switch, name, (self._place, 1), self._tokens, spacing=Space.S)
        foot = hbox((self._state, 1), self._answer, spacing=Space.S)
        vbox(head, self._about, foot, on=self, spacing=Space.XS, margins=(0, Space.XS, 0, Space.XS))
        self.show_item(item)

    def show_item(self, item: ExtensionView) -> None:
        """Show it as it is now. Emits no signal."""
        self._item = item
        self._switch.setChecked(item.state in ("on", "failed"))
        self._switch.setEnabled(item.can_switch)
        self._place.setText(visible_line(item.place).text)
        self._place.setToolTip(plain_tooltip(visible_line(item.path).text))
        show_text(self._tokens, self.tr("{0} tokens").format(f"{item.tokens:,}") if item.tokens is not None else "")
        self._tokens.setToolTip(self.tr("About how many tokens its text takes once it is read"))
        self._about.setText(drawn(item.about))
        self._state.say(*self._words())
        self._state.setVisible(bool(self._state.text()))
        self._answer.setVisible(item.state in ("waiting", "changed"))

    def _words(self) -> tuple[str, str]:
        item = self._item
        reason = core_words(visible_line(item.reason).text)
        match item.state:
            case "waiting" if item.is_of_plugin:
                return self.tr("It waits for your answer about its plugin."), "warning"
            case "waiting":
                return self.tr("It waits until you trust the project."), "warning"
            case "changed":
                return self.tr("It or its script has changed since your answer, so it waits."), "warning"
            case "failed":
                return self.tr("It does not run. {0}").format(answer_words(visible_line(item.reason).text)), "warning"
            case "unusable":
                return self.tr("It cannot be used: {0}.").format(reason), "warning"
            case "off" if item.reason:
                return self.tr("It is not used: {0}.").format(reason), "secondary"
            case "on" | "off":
                who = "" if item.is_for_model else self.tr("The model does not see it; you call it by its name.")
                if not item.is_for_user:
                    who = self.tr("Only the model uses it.")
                return " ".join(filter(None, (reason, who))), "secondary"

    def _on_answer(self) -> None:
        self._page.section_wanted.emit("plugins" if self._item.is_of_plugin else "project")

    def _on_switch(self) -> None:
        self._page.switch(self._item.key, is_on=self._switch.isChecked())


class ExtensionsPage(Page):
    def __init__(self, kind: ExtensionKind, theme: Theme, actions: SettingsActions) -> None:
        super().__init__(section_title(kind), theme, actions)
        self.kind: ExtensionKind = kind
        self._cards = CardList(self, lambda item: ExtensionCard(theme, item, self), ExtensionCard.show_item)

    def look(self) -> None:
        self.settings_actions.look_at_extensions(self.kind)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.look()

    def _build(self) -> Iterator[None]:
        about = {
            "skills": self.tr(
                "Instructions for particular tasks, from the folders of all agents. The model sees their names "
                "and purposes, and reads a skill when it fits the task. You call one with a slash and its name."
            ),
            "hooks": self.tr(
                "Commands that run at certain events of a session, such as before a call: yours, and the project's "
                "once you trust them. They run as you do, outside the sandbox."
            ),
            "diagnostics": self.tr(
                "Programs that find errors in code. They check the files that a call changed; the model reads what is "
                "new, and the review marks it. They run in the sandbox."
            ),
        }
        self._cost, self._missing = Note("", object_name="extensionsCost"), Note("", object_name="serversMissing")
        self.column.addWidget(Note(about[self.kind]))
        yield from self.add_rows(settings_of(self.kind, (f"{self.kind}.off",)))
        self._problems = Note("", "warning", object_name="extensionProblems")
        self._empty = Note("", object_name="extensionsEmpty")
        parts = (self._cost, self._problems, self._empty, self._cards.column, self._missing, STRETCH)
        add_parts(self.column, Space.XS, *parts)

    def show_extensions(self, view: ExtensionsView) -> None:
        self.show_later("extensions", lambda: self._show_extensions(view))

    def _show_extensions(self, view: ExtensionsView) -> None:
        self._cards.show(view.items, self)
        cost = self.tr("Their list takes about {0} tokens of each request.").format(f"{view.tokens:,}")
        missing = self.tr("Supported, but not installed: {0}.").format(", ".join(view.missing))
        show_text(self._cost, cost if view.tokens else "")
        show_text(self._missing, missing if view.missing else "")
        show_text(self._problems, "\n".join(map(drawn, view.problems)))
        empty = {
            "skills": self.tr(
                "There are no skills. A skill is a folder with a file SKILL.md, such as "
                ".agents/skills/release/SKILL.md, in this folder or in your home folder."
            ),
            "hooks": self.tr(
                "There are no hooks. Define yours in the settings file, in tables [[hooks.definitions]]; a project's "
                "are in files such as .claude/settings.json."
            ),
            "diagnostics": self.tr(
                "There are no language servers. Install a supported one, or define your own in the settings file, in a "
                "table [[diagnostics.definitions]]."
            ),
        }
        show_text(self._empty, "" if view.items else empty[self.kind])

    def switch(self, key: str, *, is_on: bool) -> None:
        if self.view is not None:
            off = value_of(self.view.settings, f"{self.kind}.off")
            others = [other for other in cast("tuple[str, ...]", off) if other != key]
            self.settings_actions.change(f"{self.kind}.off", others if is_on else [*others, key])
