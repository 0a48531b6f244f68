"""The page of plugins shows what each brings and starts, also of one that is not added yet, and switches them."""

from msgspec.structs import replace
from PySide6.QtWidgets import QLabel, QLineEdit

from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.values import with_setting
from desktop_agent.ui.settings.plugins_page import PluginCard
from desktop_agent.ui.settings.settings_view import PluginView, StagedPluginView
from desktop_agent.ui.widgets.buttons import Switch
from tests.parts import part
from tests.ui.settings.desk import Desk

DEMO = PluginView(
    name="/home/me/plugins/demo/files",
    title="demo",
    version="1.0",
    about="A de\u202emo",
    place="https://example.org/demo",
    digest="d1",
    skills=("demo:review",),
    agents=("demo:helper",),
    unconfined=("hook PreToolUse (Bash): ./check.sh", "server notes: python3 server.py"),
    problems=("plugin.json: x: is not known here",),
    is_mine=True,
)


def show(desk: Desk, *plugins: PluginView) -> None:
    desk.turn_to("plugins")
    desk.dialog.pages.plugins.show_plugins(plugins)
    desk.settle()


def card(desk: Desk) -> PluginCard:
    [found] = desk.dialog.page.findChildren(PluginCard)
    return found


def test_a_card_shows_what_a_plugin_brings_and_starts_in_full(desk: Desk) -> None:
    show(desk, DEMO)
    assert ("look at plugins",) in desk.asked_servers
    texts = set(desk.visible_texts())
    assert {"demo", "1.0", "A de⟨U+202E⟩mo", "Skills: review", "Sub-agents: helper", *DEMO.unconfined} <= texts
    assert "It runs these as you do, outside the sandbox:" in texts
    assert "It runs these in the sandbox:" not in texts
    assert "Not used: plugin.json: x: is not known here" in texts


def test_a_card_does_not_say_of_a_language_server_that_it_runs_outside_the_sandbox(desk: Desk) -> None:
    line = "language server x, in the sandbox: ./check --stdio"
    show(desk, replace(DEMO, unconfined=(), confined=(line,)))
    texts = set(desk.visible_texts())
    assert {"It runs these in the sandbox:", line} <= texts
    assert "It runs these as you do, outside the sandbox:" not in texts


def test_a_switch_changes_the_list_of_those_that_are_off(desk: Desk) -> None:
    show(desk, DEMO)
    desk.show(with_setting(Settings(), "plugins.off", ["other"]))
    part(card(desk), Switch, "pluginSwitch").click()
    assert desk.changed == [("plugins.off", ["other", "demo"])]


def test_a_changed_plugin_is_let_in_as_it_was_shown(desk: Desk) -> None:
    show(desk, replace(DEMO, state="changed"))
    assert any("starts nothing until you allow it again" in text for text in desk.visible_texts())
    desk.button("renewPluginButton").click()
    assert ("renew", "demo", "d1") in desk.asked_servers


def test_a_plugin_is_removed_after_a_question(desk: Desk) -> None:
    show(desk, DEMO)
    desk.button("removePluginButton").click()
    assert "Remove demo and everything that its programs stored?" in desk.visible_texts()
    assert not any(asked[0] == "remove" for asked in desk.asked_servers)
    desk.button("reallyRemovePluginButton").click()
    assert ("remove", "demo") in desk.asked_servers


def test_a_projects_plugin_waits_and_cannot_be_removed(desk: Desk) -> None:
    show(desk, replace(DEMO, state="waiting", is_mine=False))
    assert "It waits until you trust the project." in desk.visible_texts()
    assert not desk.button("removePluginButton").isVisible()
    assert not part(card(desk), Switch, "pluginSwitch").isVisible()
    desk.button("answerProjectButton").click()
    assert desk.dialog.page is desk.dialog.pages.project


def test_what_a_new_plugin_starts_is_seen_before_it_can_be_added(desk: Desk) -> None:
    show(desk)
    desk.button("addPluginButton").click()
    part(desk.dialog.page, QLineEdit, "pluginSourceEdit").setText("~/demo")
    desk.button("stagePluginButton").click()
    assert ("stage", "~/demo", "") in desk.asked_servers
    assert not desk.button("confirmAddPluginButton").isVisible()
    desk.dialog.pages.plugins.show_staged(StagedPluginView(plugin=DEMO, left_out=("out",)))
    desk.settle()
    texts = set(desk.visible_texts())
    assert {"demo 1.0", *DEMO.unconfined} <= texts
    assert "Left out, because they lead out of the plugin or are not files: out" in texts
    desk.button("confirmAddPluginButton").click()
    assert ("add",) in desk.asked_servers


def test_an_update_is_looked_at_first_and_then_confirmed(desk: Desk) -> None:
    show(desk, replace(DEMO, source="https://example.org/demo", inside="plugin"))
    desk.click("updatePluginButton")
    assert desk.asked_servers[-1] == ("stage", "https://example.org/demo", "plugin")
    desk.dialog.pages.plugins.show_staged(StagedPluginView(plugin=DEMO, is_update=True, is_current=True))
    assert "demo is up to date." in desk.visible_texts()
    assert not desk.button("confirmAddPluginButton").isVisible()
    desk.button("stagePluginButton").click()
    desk.dialog.pages.plugins.show_staged(StagedPluginView(plugin=DEMO, is_update=True))
    desk.settle()
    assert desk.button("confirmAddPluginButton").text() == "Update"
    desk.button("confirmAddPluginButton").click()
    assert desk.asked_servers[-1] == ("add",)


def test_another_source_needs_another_look(desk: Desk) -> None:
    show(desk)
    desk.button("addPluginButton").click()
    source = part(desk.dialog.page, QLineEdit, "pluginSourceEdit")
    desk.dialog.pages.plugins.show_staged(StagedPluginView(plugin=DEMO))
    assert desk.button("confirmAddPluginButton").isVisible()
    source.textEdited.emit("x")
    assert ("discard",) in desk.asked_servers
    assert not desk.button("confirmAddPluginButton").isVisible()


def test_what_is_wrong_with_a_source_is_said(desk: Desk) -> None:
    show(desk)
    desk.button("addPluginButton").click()
    desk.button("stagePluginButton").click()
    problem = part(desk.dialog.page, QLabel, "pluginProblem")
    assert problem.text() == "Name a folder, or the address of a git repository."
    desk.dialog.pages.plugins.show_staged(StagedPluginView(problem="It is no plugin."))
    assert (problem.text(), problem.isVisible()) == ("It is no plugin.", True)
    desk.button("cancelAddPluginButton").click()
    assert ("discard",) in desk.asked_servers
