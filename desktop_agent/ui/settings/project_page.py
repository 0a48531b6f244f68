"""The settings section about the project: what its settings file changes, what else it brings, the user's answer."""

import re
from collections.abc import Iterator, Sequence
from functools import partial

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QVBoxLayout

from desktop_agent.core.agents.definition import AgentDefinitions, read_agents
from desktop_agent.core.base.plain_text import named, shortened
from desktop_agent.core.mcp.definition_file import Definitions, read_definitions
from desktop_agent.core.settings.loading import FileProblem
from desktop_agent.core.settings.values import declared_settings
from desktop_agent.core.settings.workspace_settings import ProjectItem, ProjectProposal, Tightened
from desktop_agent.ui.settings.page_parts import Page, shown
from desktop_agent.ui.settings.setting_controls import words
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import Note, make_label
from desktop_agent.ui.widgets.layouts import STRETCH, add_parts, hbox
from desktop_agent.ui.wording.phrases import short_path
from desktop_agent.ui.wording.visible_text import visible_line

_LONGEST_LINE = 600
"""The longest line of untrusted text that is shown, in characters, because it must not fill the window."""
_MOST_TEXTS = 40
_LONG_WORD = re.compile(r"(\S{40})(?=\S)")


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
        while (item := self._lines.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
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
    """Return a line with the digest of what is answered about, if that is needed, and whether it has changed."""
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
