"""The page of rules lists all rules, and each can be found and removed."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit

from desktop_agent.core.protocol.model import Rule
from desktop_agent.ui.settings.rules_page import RulesPage
from desktop_agent.ui.settings.settings_view import Section
from tests.parts import part
from tests.ui.settings.desk import Desk

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)

PUSH = Rule(id="r-1", effect="allow", kind="command", pattern="git push", scope="session", created_at=NOW)
EDITS = Rule(
    id="r-2",
    effect="allow",
    kind="edit",
    pattern="src/**",
    scope="project",
    workspace="/srv/project",
    created_at=NOW - timedelta(days=40),
    expires_at=NOW + timedelta(days=7),
)
FETCH = Rule(
    id="r-3",
    effect="forbid",
    kind="tool",
    pattern="web_fetch",
    scope="always",
    created_at=NOW - timedelta(days=1),
    is_unconfined=True,
)


@pytest.fixture
def section() -> Section:
    return "rules"


@pytest.fixture
def page(desk: Desk) -> RulesPage:
    return desk.dialog.pages.rules


def empty_text(page: RulesPage) -> str:
    label = part(page, QLabel, "rulesEmpty")
    return label.text() if label.isVisible() else ""


def filter_field(page: RulesPage) -> QLineEdit:
    return part(page, QLineEdit, "rulesFilter")


def test_without_rules_it_says_how_one_is_made(page: RulesPage) -> None:
    assert empty_text(page).startswith("There are no rules.")
    assert not filter_field(page).isVisible()


def test_a_rule_says_what_it_covers_how_far_it_reaches_and_when_it_ends(page: RulesPage) -> None:
    page.show_rules([PUSH, EDITS, FETCH])
    push, edits, fetch = (row.accessibleName() for row in page.listed)
    assert push.startswith("Allow git push, in this session · made ")
    assert "ends" not in push
    assert edits.startswith("Allow edits of src/**, in this folder · made 13 Oct · ends ")
    assert fetch.startswith("Forbid calls of web_fetch, everywhere · outside the sandbox · made ")
    assert fetch.endswith(" · never ends")


def test_what_cannot_be_seen_in_a_rule_is_named(page: RulesPage) -> None:
    page.show_rules([replace(PUSH, pattern="ls \u202e# mr")])
    (row,) = page.listed
    assert row.accessibleName().startswith("Allow ls ⟨U+202E⟩# mr, ")
    assert "ls ⟨U+202E⟩# mr" in [label.text() for label in row.findChildren(QLabel)]


def test_revoking_asks_for_this_rule_once(desk: Desk, page: RulesPage) -> None:
    page.show_rules([PUSH, EDITS])
    button = page.listed[1].button
    assert button.accessibleName() == "Revoke the rule for src/**"
    button.click()
    button.click()
    assert desk.revoked == ["r-2"]
    assert len(page.listed) == 2, "it is listed until it holds no longer"


@pytest.mark.parametrize(("text", "found"), [("PUSH", ["r-1"]), ("folder", ["r-2"]), ("forbid", ["r-3"]), ("zzz", [])])
def test_rules_are_found_by_any_of_their_words(page: RulesPage, text: str, found: list[str]) -> None:
    page.show_rules([PUSH, EDITS, FETCH])
    filter_field(page).setText(text)
    ids = {"git push": "r-1", "src/**": "r-2", "web_fetch": "r-3"}
    assert [rule_id for pattern, rule_id in ids.items() for row in page.listed if pattern in row.searched_text] == found
    assert empty_text(page) == ("" if found else "No rule matches.")


def test_the_keyboard_stays_in_the_list_when_a_rule_goes(page: RulesPage) -> None:
    page.show_rules([PUSH, EDITS])
    page.listed[1].button.setFocus()
    page.show_rules([PUSH])
    assert QApplication.focusWidget() is page.listed[0].button


def test_a_rule_for_outside_the_sandbox_says_in_which_repository_it_counts(page: RulesPage) -> None:
    push = Rule(
        id="r-9", effect="allow", kind="command", pattern="git push", scope="always", created_at=NOW, is_unconfined=True
    )
    page.show_rules([replace(push, repository="/srv/app", repository_mark="0f"), replace(push, id="r-10")])
    here, old = (row.accessibleName() for row in page.listed)
    assert here.startswith("Allow git push, outside the sandbox, in /srv/app · made ")
    assert "without a repository, so it does not apply: create it again" in old
