"""The settings dialog shows the effective values and emits the user's changes."""

from pathlib import Path
from typing import get_args

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit, QListWidget, QPushButton, QWidget

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.protocol.model import ApprovalPolicy, Rule
from desktop_agent.core.settings.live_settings import SettingChange
from desktop_agent.core.settings.loading import FileProblem, SettingSource
from desktop_agent.core.settings.sections import ExecutionSettings, ModelSettings, Settings, UiSettings
from desktop_agent.core.settings.values import declared_settings, with_setting
from desktop_agent.ui.settings.page_parts import Page, SettingRow, name_of
from desktop_agent.ui.settings.setting_controls import Switch
from desktop_agent.ui.settings.settings_view import Section
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.question import ChoiceCard
from tests.parts import part
from tests.ui.ink import ink_rect
from tests.ui.settings.desk import NOW, Desk


def test_showing_settings_tells_nothing(desk: Desk) -> None:
    desk.show(
        Settings(
            model=ModelSettings(provider="demo", name="another", base_url="https://proxy.example"),
            execution=ExecutionSettings(approval="always"),
            ui=UiSettings(theme="dark", colour_blind_safe_diff=True, chat_font_px=17, code_font_px=9, diff_font_px=9.5),
        )
    )
    desk.turn_to("appearance")
    assert desk.changed == []
    assert desk.picker("Theme").currentText() == "Dark"
    assert desk.line("Size of chat text, pixels").text() == "17"
    assert desk.switch("Diffs in blue and orange").isChecked()


def test_every_setting_is_found_by_its_name_and_by_what_it_does(desk: Desk) -> None:
    search = desk.line("Search settings")
    search.setText("theme")
    desk.settle()  # the page of results is built in steps
    for setting in (each for each in declared_settings().values() if each.about.holds != "keys"):
        for text in (setting.key, setting.about.title, setting.about.text.partition("`")[0]):
            search.setText(text)
            found = [row.setting.key for row in desk.dialog.findChildren(SettingRow) if row.isVisible()]
            assert setting.key in found
    search.setText("no such thing")
    assert any("No setting matches" in text for text in desk.visible_texts())
    search.clear()
    assert desk.field.isVisible(), "the page that was shown before"


def test_no_section_is_marked_while_all_of_them_are_searched(desk: Desk) -> None:
    sections, search = desk.dialog.findChild(QListWidget, "settingsSections"), desk.line("Search settings")
    assert sections is not None
    desk.turn_to("appearance")
    row = sections.currentRow()
    search.setText("font")
    assert sections.selectedItems() == []
    search.clear()
    assert sections.currentRow() == row
    assert desk.picker("Theme").isVisible()
    search.setText("font")
    sections.setCurrentRow(row)
    assert search.text() == "", "to choose a section ends the search, also the one of before"
    assert desk.picker("Theme").isVisible()
    search.setText("font")
    desk.dialog.show_section("model")
    assert desk.field.isVisible()


def test_every_setting_has_its_control_on_a_page(desk: Desk) -> None:
    for section in get_args(Section):
        if section != "project":
            desk.turn_to(section)
    on_rows = {row.setting.key for row in desk.dialog.findChildren(SettingRow)}
    by_hand = {
        *["model.provider", "model.account", "model.name", "model.base_url"],
        "execution.approval",
        "execution.sandbox",
        "skills.off",
        "hooks.off",
        "plugins.off",
        "diagnostics.off",
    }
    keys = {key for key in declared_settings() if key.startswith("keys.")}  # rows of a list: see test_keys_page
    assert on_rows | by_hand | keys == set(declared_settings())


def built_pages(desk: Desk) -> list[str]:
    pages = desk.dialog.pages
    return [page.title for page in map(pages.widget, range(pages.count())) if isinstance(page, Page) and page.is_built]


def test_a_page_is_built_when_it_is_turned_to_and_shows_what_came_before(desk: Desk) -> None:
    assert built_pages(desk) == ["Model"]
    desk.show(with_setting(Settings(), "compaction.auto", value=False))
    rule = Rule(id="r-1", effect="allow", kind="edit", pattern="src/**", scope="always", created_at=NOW)
    desk.dialog.pages.rules.show_rules((rule,))
    desk.turn_to("conversations")
    assert not desk.setting("compaction.auto").control.findChildren(Switch)[0].isChecked()
    desk.turn_to("rules")
    assert desk.button("revokeRuleButton").isVisible()
    desk.turn_to("conversations")
    assert built_pages(desk) == ["Model", "Rules", "Long conversations"]


def test_a_page_is_seen_when_all_of_it_is_there(desk: Desk) -> None:
    desk.dialog.show_section("appearance")
    page = desk.dialog.page
    seen: list[bool] = []
    while not page.is_built:
        seen.append(any(label.isVisible() for label in page.findChildren(QLabel)))
        QApplication.processEvents()
    desk.settle()
    assert not any(seen)
    assert desk.setting("ui.theme").isVisible()
    assert page.updatesEnabled()


def test_a_changed_setting_names_its_default_and_is_reset(desk: Desk) -> None:
    desk.show(with_setting(Settings(), "ui.code_font_px", 15))
    desk.turn_to("appearance")
    assert "Changed. Default: 12 pixels" in desk.visible_texts()
    reset = next(
        button for button in desk.dialog.findChildren(QPushButton) if button.accessibleName() == "Reset Size of code"
    )
    QTest.mouseClick(reset, Qt.MouseButton.LeftButton)
    assert desk.reset == ["ui.code_font_px"]


def test_what_is_wrong_with_the_file_is_said_at_the_setting_and_above(desk: Desk) -> None:
    file = Path("/home/me/config.toml")
    problems = (
        FileProblem(file, "ui.theme", "'pink' is not one of system, light, dark; using 'system'", 2),
        FileProblem(file, "looks", "unknown section", 4),
    )
    desk.show(Settings(), problems=problems)
    desk.turn_to("appearance")
    texts = desk.visible_texts()
    assert "config.toml:2: 'pink' is not one of system, light, dark; using 'system'." in texts
    assert "/home/me/config.toml:4: looks: unknown section" in texts


def test_what_the_environment_sets_says_so_and_cannot_be_changed(desk: Desk) -> None:
    desk.show(Settings(), sources={"model.max_tokens": SettingSource("environment", "ANTHROPIC_MAX_TOKENS")})
    assert any("ANTHROPIC_MAX_TOKENS, which overrides the file" in text for text in desk.visible_texts())
    assert not desk.setting("model.max_tokens").control.isEnabled()


def test_the_last_change_is_told_and_taken_back(desk: Desk) -> None:
    desk.dialog.foot.show_change(SettingChange("ui.theme", "system", "dark", was_set=False, is_set=True))
    assert "Theme: Same as system → Dark." in desk.visible_texts()
    desk.click("undoSettingButton")
    assert (desk.reset, desk.changed) == (["ui.theme"], [])
    desk.dialog.foot.show_change(SettingChange("ui.theme", "dark", "system", was_set=True, is_set=False))
    assert not desk.button("undoSettingButton").isVisible()
    desk.dialog.foot.show_change(SettingChange("ui.theme", "light", "dark", was_set=True, is_set=True))
    desk.click("undoSettingButton")
    assert desk.changed == [("ui.theme", "light")]


def test_what_was_not_saved_says_why(desk: Desk) -> None:
    desk.dialog.foot.show_failure(
        UsageError("ui.theme cannot be 'pink'.", hint="Allowed is one of system, light, dark.")
    )
    assert "ui.theme cannot be 'pink'. Allowed is one of system, light, dark." in desk.visible_texts()


def test_any_model_can_be_typed_and_is_told_once(desk: Desk) -> None:
    box = desk.picker("Model")
    line = box.lineEdit()
    assert line is not None
    line.selectAll()
    QTest.keyClicks(line, "claude-next")
    QTest.keyClick(line, Qt.Key.Key_Return)
    desk.show(with_setting(Settings(), "model.name", "claude-next"))
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert desk.changed == [("model.name", "claude-next")]


def test_an_address_is_told_when_it_is_complete_and_refused_where_nothing_can_be_sent_to_it(desk: Desk) -> None:
    address = part(desk.dialog, QLineEdit, "baseUrlEdit")
    QTest.keyClicks(address, "https://exa mple")
    QTest.keyClick(address, Qt.Key.Key_Return)
    assert any("This address cannot be used: it contains a space" in text for text in desk.visible_texts())
    address.clear()
    QTest.keyClicks(address, " https://proxy.example ")
    assert desk.changed == []
    QTest.keyClick(address, Qt.Key.Key_Return)
    assert desk.changed == [("model.base_url", "https://proxy.example")]


def test_an_address_that_is_not_encrypted_is_warned_of_while_it_is_typed(desk: Desk) -> None:
    address = part(desk.dialog, QLineEdit, "baseUrlEdit")
    for text, is_warned in (("http://10.1.2.3", True), ("http://localhost:8", False), ("https://10.1.2.3", False)):
        address.setText(text)
        assert any("Not encrypted" in shown for shown in desk.visible_texts()) == is_warned


def shown_destination(desk: Desk) -> str:
    (said,) = [text for text in desk.visible_texts() if text.startswith("Requests go to")]
    return said.partition(", with its API key")[0]


def test_it_says_where_requests_really_go_and_who_says_so(desk: Desk) -> None:
    gateway = "https://gateway.example"
    desk.show(Settings())
    assert shown_destination(desk) == "Requests go to https://api.anthropic.com"

    in_settings = with_setting(Settings(), "model.base_url", gateway)
    desk.show(in_settings)
    assert shown_destination(desk) == f"Requests go to {gateway} (from the settings)"

    source = SettingSource(kind="environment", place="ANTHROPIC_BASE_URL")
    desk.show(in_settings, sources={"model.base_url": source})
    assert shown_destination(desk) == f"Requests go to {gateway} (from the environment variable ANTHROPIC_BASE_URL)"
    assert not any("api.anthropic.com" in text for text in desk.visible_texts())
    assert "Default · gateway.example" in [box.currentText() for box in desk.dialog.findChildren(QComboBox)]


def test_the_demo_asks_for_no_key(desk: Desk) -> None:
    desk.show(Settings(model=ModelSettings(provider="demo")))
    assert not desk.field.isVisible()
    assert any("needs no key" in text for text in desk.visible_texts())


def test_every_policy_has_its_card_which_chooses_it(desk: Desk) -> None:
    for policy in get_args(ApprovalPolicy):
        desk.show(Settings(execution=ExecutionSettings(approval=policy)))
        desk.turn_to("approvals")
        cards = [card for card in desk.dialog.findChildren(ChoiceCard) if card.isChecked()]
        assert [card.objectName() for card in cards] == [f"approval_{policy}"]
    assert desk.changed == []
    QTest.mouseClick(part(desk.dialog, ChoiceCard, "approval_on_request"), Qt.MouseButton.LeftButton)
    assert desk.changed == [("execution.approval", "on_request")]


def test_the_sandbox_of_new_sessions_is_chosen_and_its_consequence_said(desk: Desk) -> None:
    desk.turn_to("approvals")
    sandbox = desk.picker("Sandbox")
    assert sandbox.currentData() == "restricted"
    sandbox.setCurrentIndex(sandbox.findData("none"))
    assert desk.changed == [("execution.sandbox", "none")]
    assert "Commands can do anything your account can." in desk.visible_texts()


def test_sections_are_reached_by_keyboard(desk: Desk) -> None:
    sections = part(desk.dialog, QListWidget, "settingsSections")
    sections.setFocus()
    QTest.keyClick(sections, Qt.Key.Key_Down)
    desk.settle()
    assert desk.setting("spending.session_usd").isVisible()


def edges(content: QWidget, *kinds: type[QWidget]) -> list[QRect]:
    """The rectangles of visible widgets of these kinds, without those inside others."""
    found = [widget for kind in kinds for widget in content.findChildren(kind)]
    return [
        QRect(widget.mapTo(content, QPoint()), widget.size())
        for widget in found
        if widget.isVisible() and not isinstance(widget.parent(), QComboBox | QLineEdit)
    ]


def test_the_fields_of_a_page_have_one_left_and_one_right_edge(desk: Desk) -> None:
    desk.show(with_setting(Settings(), "execution.blocked_commands", ("git push",)))
    sections: list[Section] = ["model", "spending", "appearance", "approvals", "tools", "mcp", "changes"]
    for section in sections:
        desk.turn_to(section)
        content = desk.dialog.page.widget()
        assert content is not None
        fields = edges(content, QLineEdit, QComboBox, QListWidget)
        assert {field.left() for field in fields} == {Space.XL + name_of("").width() + Space.L}
        beside = [*fields, *edges(content, QPushButton)]
        rows = [[each for each in beside if each.top() <= field.center().y() <= each.bottom()] for field in fields]
        assert {max(each.right() for each in row) for row in rows} == {content.width() - Space.XL - 1}


def test_a_number_has_its_unit_behind_it_in_the_field(desk: Desk) -> None:
    desk.turn_to("appearance")
    line = desk.line("Size of code, pixels")
    area, ends = line.rect().adjusted(4, 4, -4, -4), list[int]()
    for text in ("1", "1111"):
        line.setText(text)
        ends.append(ink_rect(line, area).right())
    metrics = line.fontMetrics()
    assert ends[0] > area.left() + metrics.horizontalAdvance("1 pixel")
    assert ends[1] - ends[0] == pytest.approx(metrics.horizontalAdvance("111"), abs=2)


def test_all_defined_servers_are_said_in_words_and_told_by_their_name_in_the_settings(desk: Desk) -> None:
    desk.turn_to("mcp")
    entries = desk.setting("mcp.servers").control.findChildren(QListWidget)[0]
    assert [entries.item(row).text() for row in range(entries.count())] == ["All that are defined"]
    desk.type_into("New entry for Servers in use", "git")
    assert desk.changed == [("mcp.servers", ("mcp://local", "git"))]
    desk.show(with_setting(Settings(), "mcp.servers", ["git"]))
    assert "Changed. Default: All that are defined" in desk.visible_texts()
