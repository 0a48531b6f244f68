"""Banners above the conversation about unreadable settings and about the settings of a project."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Signal

from desktop_agent.core.settings.workspace_settings import ProjectProposal
from desktop_agent.ui.widgets.banner import BannerFrame, few_lines
from desktop_agent.ui.wording.visible_text import plain_tooltip


class HoldBanner(BannerFrame):
    file_requested = Signal()
    go_on_requested = Signal()

    def __init__(self) -> None:
        super().__init__("settingsHoldBanner")
        self.add_button(self.tr("Open the file"), "openFaultyFileButton", self.file_requested)
        tooltip = self.tr("Valid settings apply. Defaults replace the others until you fix the file.")
        default = self.tr("Use defaults anyway")
        self.add_button(default, "useDefaultsButton", self.go_on_requested, is_flat=True, tooltip=tooltip)

    def show_faults(self, faults: Sequence[object]) -> None:
        lines = [str(fault) for fault in faults]
        shown = [*few_lines(lines), self.tr("Work continues when you fix the file.")]
        self.say(self.tr("Nothing runs: settings that your safety depends on cannot be read."), "\n".join(shown))
        self.setToolTip(plain_tooltip("\n".join(lines)))
        self.show()


class ProjectBanner(BannerFrame):
    answered = Signal(str)  # trusted or ignored
    details_requested = Signal()

    def __init__(self) -> None:
        super().__init__("projectBanner")
        trust, ignore = partial(self.answered.emit, "trusted"), partial(self.answered.emit, "ignored")
        self._trust = self.add_button(self.tr("Trust"), "projectBannerTrust", trust)
        self.add_button(self.tr("Ignore"), "projectBannerIgnore", ignore)
        self.add_button(self.tr("Details…"), "projectBannerDetails", self.details_requested, is_flat=True)

    def show_proposal(self, proposal: ProjectProposal) -> None:
        # Not needed for the first paint.
        from desktop_agent.core.mcp.definition_file import read_definitions
        from desktop_agent.ui.settings.project_page import change_lines, problem_lines, server_lines

        found = read_definitions(proposal.tables)
        starts = self.tr("These settings would start the MCP server {0}")
        servers = [starts.format(line) for line in server_lines(found)]
        lines = servers + change_lines(proposal.changes) + problem_lines((*proposal.problems, *found.problems))
        shown = few_lines(lines, longest=160)
        title = self.tr("This project has its own settings. They apply only if you trust them.")
        self.say(title, "\n".join(shown))
        is_whole = shown[: len(servers)] == servers  # programs are trusted only if shown in full
        self._trust.setVisible(is_whole and bool(servers or proposal.changes))
        self.show()
