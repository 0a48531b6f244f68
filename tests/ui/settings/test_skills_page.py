"""The page of skills shows what each is for, what it costs and what becomes of it, and switches them."""

from PySide6.QtWidgets import QLabel

from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.values import with_setting
from desktop_agent.ui.settings.settings_view import SkillsView, SkillView
from desktop_agent.ui.settings.skills_page import SkillCard
from desktop_agent.ui.widgets.buttons import Switch
from tests.parts import part
from tests.ui.settings.desk import Desk

RELEASE = SkillView(
    name="/home/me/.claude/skills/release/SKILL.md",
    title="release",
    about="How a release is made",
    place="~/.claude/skills",
    tokens=1_234,
    state="on",
)
WAITING = SkillView(
    name="/app/.agents/skills/a/SKILL.md",
    title="a\u202eb",
    about="x\ny",
    place=".agents/skills",
    tokens=5,
    state="waiting",
)
BROKEN = SkillView(
    name="/app/.agents/skills/b/SKILL.md",
    title="b",
    about="",
    place="p",
    tokens=0,
    state="unusable",
    reason="it is empty",
)


def cards(desk: Desk) -> dict[str, SkillCard]:
    found = desk.dialog.page.findChildren(SkillCard)
    return {part(card, Switch, "skillSwitch").accessibleName(): card for card in found}


def test_each_skill_is_shown_with_its_cost_and_its_state(desk: Desk) -> None:
    desk.turn_to("skills")
    assert ("look at skills",) in desk.asked_servers
    desk.dialog.pages.skills.show_skills(SkillsView(skills=(WAITING, RELEASE, BROKEN), tokens=40))
    desk.settle()
    texts = desk.visible_texts()
    assert {"release", "How a release is made", "1,234 tokens", "x␊y", "a⟨U+202E⟩b"} <= set(texts)
    assert "It waits until you trust the project." in texts
    assert "It cannot be used: it is empty." in texts
    assert "Their list takes about 40 tokens of each request." in texts


def test_a_switch_changes_the_list_of_those_that_are_off(desk: Desk) -> None:
    desk.turn_to("skills")
    desk.show(with_setting(Settings(), "skills.off", ["other"]))
    desk.dialog.pages.skills.show_skills(SkillsView(skills=(RELEASE,)))
    desk.settle()
    switch = part(desk.dialog.page, Switch, "skillSwitch")
    switch.click()
    desk.show(with_setting(Settings(), "skills.off", ["other", "release"]))
    switch.click()
    assert desk.changed == [("skills.off", ["other", "release"]), ("skills.off", ["other"])]


def test_an_empty_page_says_where_a_skill_goes(desk: Desk) -> None:
    desk.turn_to("skills")
    desk.dialog.pages.skills.show_skills(SkillsView())
    desk.settle()
    assert ".agents/skills/release/SKILL.md" in part(desk.dialog.page, QLabel, "skillsEmpty").text()
