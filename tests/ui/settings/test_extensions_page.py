"""The pages of skills and hooks show what each is for, where it is and what becomes of it, and switch them."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QLabel, QPushButton

from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.values import with_setting
from desktop_agent.core.settings.workspace_settings import ProjectItem, ProjectProposal
from desktop_agent.ui.settings.extensions_page import ExtensionCard
from desktop_agent.ui.settings.settings_view import ExtensionKind, ExtensionsView, ExtensionView
from desktop_agent.ui.widgets.buttons import Switch
from tests.parts import part
from tests.ui.settings.desk import Desk

RELEASE = ExtensionView(
    name="/home/me/.claude/skills/release/SKILL.md",
    key="release",
    title="release",
    about="How a release is made",
    place="~/.claude/skills",
    path="/home/me/.claude/skills/release/SKILL.md",
    tokens=1_234,
    state="on",
)
WAITING = ExtensionView(
    name="/app/.agents/skills/a/SKILL.md",
    key="a",
    title="a\u202eb",
    about="x\ny",
    place=".agents/skills",
    path="/app/.agents/skills/a/SKILL.md",
    tokens=5,
    state="waiting",
    can_switch=False,
)
BROKEN = replace(RELEASE, name="b", title="b", tokens=0, state="unusable", reason="it is empty", can_switch=False)
CHECK = ExtensionView(
    name="d1",
    key="d1",
    title="PreToolUse (Bash)",
    about="./check.sh\u202e",
    place=".claude/settings.json",
    path="/app/.claude/settings.json",
    state="on",
)


SERVER = replace(
    CHECK,
    name="ruff",
    key="ruff",
    title="ruff",
    about="ruff server",
    place="~/.local/bin/ruff",
    reason="Runs, and checks .py",
)


def card_of(desk: Desk, title: str) -> ExtensionCard:
    cards = desk.dialog.page.findChildren(ExtensionCard)
    return next(card for card in cards if title in part(card, Switch, "extensionSwitch").accessibleName())


def show_hooks(desk: Desk, *hooks: ExtensionView, problems: tuple[str, ...] = ()) -> None:
    desk.turn_to("hooks")
    desk.dialog.pages.extensions("hooks").show_extensions(ExtensionsView(items=hooks, problems=problems))
    desk.settle()


def test_each_language_server_is_shown_with_its_state(desk: Desk) -> None:
    desk.turn_to("diagnostics")
    assert ("look at", "diagnostics") in desk.asked_servers
    failed = replace(SERVER, name="go", key="go", title="go", state="failed", reason="It ended with exit code 1")
    page = desk.dialog.pages.extensions("diagnostics")
    page.show_extensions(ExtensionsView(items=(SERVER, failed), missing=("gopls", "clangd")))
    desk.settle()
    texts = desk.visible_texts()
    assert {"ruff", "ruff server", "Runs, and checks .py", "Supported, but not installed: gopls, clangd."} <= set(texts)
    assert "It does not run. It ended with exit code 1" in texts
    assert part(card_of(desk, "go"), Switch, "extensionSwitch").isChecked()


def test_each_skill_is_shown_with_its_cost_and_its_state(desk: Desk) -> None:
    desk.turn_to("skills")
    assert ("look at", "skills") in desk.asked_servers
    desk.dialog.pages.extensions("skills").show_extensions(ExtensionsView(items=(WAITING, RELEASE, BROKEN), tokens=40))
    desk.settle()
    texts = desk.visible_texts()
    assert {"release", "How a release is made", "1,234 tokens", "x␊y", "a⟨U+202E⟩b"} <= set(texts)
    assert "It waits until you trust the project." in texts
    assert "It cannot be used: it is empty." in texts
    assert "Their list takes about 40 tokens of each request." in texts


@pytest.mark.parametrize(("kind", "item"), [("skills", RELEASE), ("hooks", CHECK), ("diagnostics", SERVER)])
def test_a_switch_changes_the_list_of_those_that_are_off(desk: Desk, kind: ExtensionKind, item: ExtensionView) -> None:
    page = desk.dialog.pages.extensions(kind)
    desk.turn_to(page.kind)
    desk.show(with_setting(Settings(), f"{kind}.off", ["other"]))
    page.show_extensions(ExtensionsView(items=(item,)))
    desk.settle()
    switch = part(desk.dialog.page, Switch, "extensionSwitch")
    switch.click()
    desk.show(with_setting(Settings(), f"{kind}.off", ["other", item.key]))
    switch.click()
    assert desk.changed == [(f"{kind}.off", ["other", item.key]), (f"{kind}.off", ["other"])]


def test_each_hook_is_shown_with_its_command_its_file_and_its_state(desk: Desk) -> None:
    changed = replace(CHECK, name="d2", title="Stop", state="changed", can_switch=False)
    off = replace(CHECK, name="d3", title="SessionEnd", state="off", reason="all hooks are switched off")
    show_hooks(desk, changed, CHECK, replace(off, can_switch=False), problems=("/app/x.json: not valid",))
    assert ("look at", "hooks") in desk.asked_servers
    texts = desk.visible_texts()
    assert {"PreToolUse (Bash)", "./check.sh⟨U+202E⟩", "/app/x.json: not valid"} <= set(texts)
    assert ".claude/settings.json" in texts
    assert not [text for text in texts if text.endswith("tokens")]
    assert "It or its script has changed since your answer, so it waits." in texts
    assert "It is not used: all hooks are switched off." in texts
    switches = {title: part(card_of(desk, title), Switch, "extensionSwitch") for title in ("Pre", "Stop", "SessionEnd")}
    assert {title: (s.isChecked(), s.isEnabled()) for title, s in switches.items()} == {
        "Pre": (True, True),
        "Stop": (False, False),
        "SessionEnd": (False, False),
    }


@pytest.mark.parametrize("state", ["waiting", "changed"])
def test_what_waits_leads_to_the_question_about_the_project(desk: Desk, state: str) -> None:
    item = ProjectItem(kind="hook", name="Stop", path=Path("/app/.claude/settings.json"), digest="d2")
    desk.dialog.show_project(ProjectProposal(Path("/app"), "", (), (), items=(item,)), None)
    waits = replace(CHECK, name="d2", title="Stop", state=state, can_switch=False)
    show_hooks(desk, CHECK, waits)
    assert not part(card_of(desk, "PreToolUse"), QPushButton, "answerProjectButton").isVisible()
    part(card_of(desk, "Stop"), QPushButton, "answerProjectButton").click()
    desk.settle()
    assert desk.dialog.page is desk.dialog.pages.project
    assert desk.button("trustProjectButton").isVisible()


@pytest.mark.parametrize("kind", ["hooks", "diagnostics"])
def test_what_waits_with_its_plugin_leads_to_the_page_of_plugins(desk: Desk, kind: ExtensionKind) -> None:
    waits = replace(CHECK, state="waiting", can_switch=False, is_of_plugin=True)
    desk.turn_to(kind)
    desk.dialog.pages.extensions(kind).show_extensions(ExtensionsView(items=(waits,)))
    desk.settle()
    assert "It waits for your answer about its plugin." in desk.visible_texts()
    desk.click("answerProjectButton")
    desk.settle()
    assert desk.dialog.page is desk.dialog.pages.plugins


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("skills", ".agents/skills/release/SKILL.md"),
        ("hooks", "[[hooks.definitions]]"),
        ("diagnostics", "[[diagnostics.definitions]]"),
    ],
)
def test_an_empty_page_says_where_one_goes(desk: Desk, kind: ExtensionKind, place: str) -> None:
    page = desk.dialog.pages.extensions(kind)
    desk.turn_to(page.kind)
    page.show_extensions(ExtensionsView())
    desk.settle()
    assert place in part(desk.dialog.page, QLabel, "extensionsEmpty").text()
