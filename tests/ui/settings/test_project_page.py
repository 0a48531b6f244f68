"""What a project wants is shown whole, can pretend nothing, and takes the user's answer."""

import re
from pathlib import Path

from pytestqt.qtbot import QtBot

from desktop_agent.core.settings import (
    FileProblem,
    Settings,
)
from desktop_agent.core.settings.loading import parse_file
from desktop_agent.core.settings.project import proposal_of
from desktop_agent.ui.settings.project_banner import ProjectBanner
from desktop_agent.ui.settings.project_page import change_lines, problem_lines
from desktop_agent.ui.theme import Theme
from tests.ui.settings.desk import Desk


def test_the_projects_wish_is_shown_whole_and_answered(desk: Desk) -> None:
    text = '[execution]\napproval = "always"\nsandbox = "none"\n'
    proposal = proposal_of(parse_file(Path("/app/.desktop-agent/config.toml"), text), Settings())
    desk.dialog.show_project(proposal, None)
    desk.dialog.show_section("project")
    texts = desk.visible_texts()
    assert "Approvals: Asks before writing → Asks before every call" in texts
    assert any("execution.sandbox: refused" in text for text in texts)
    desk.click("trustProjectButton")
    desk.dialog.show_project(proposal, "trusted")
    assert not desk.button("trustProjectButton").isVisible()
    desk.click("ignoreProjectButton")
    assert desk.answers == ["trusted", "ignored"]


def test_nothing_a_project_says_begins_a_line_hides_or_is_endless() -> None:
    text = '[execution]\nblocked_commands = ["rm\\nApprovals: a → b", "\\u202Ex", "%s"]\n[nope]\n' % ("y" * 20_000)
    proposal = proposal_of(parse_file(Path("/app/.desktop-agent/config.toml"), text), Settings())
    [line] = change_lines(proposal.changes)
    assert "\n" not in line
    assert "\u202e" not in line
    assert len(line) < 700
    assert max(map(len, re.split(r"[\s\u200b]", line))) <= 40
    problem = FileProblem(Path("c"), "x\ny", "z" * 20_000, 1)
    assert all("\n" not in told and len(told) < 700 for told in problem_lines([problem]))


def test_the_banner_about_a_project_stays_a_banner(theme: Theme, qtbot: QtBot) -> None:
    blocked = ", ".join(f'"{"y" * 90}{number}"' for number in range(300))
    text = f"[execution]\nblocked_commands = [{blocked}]\n"
    banner = ProjectBanner()
    qtbot.addWidget(banner)
    banner.show_proposal(proposal_of(parse_file(Path("/app/config.toml"), text), Settings()))
    banner.resize(600, 10)
    assert banner.heightForWidth(600) < 140
    assert banner.minimumSizeHint().width() < 600
