"""`[keys]` accepts Qt's keys except those for writing; no two actions share a key."""

import pytest
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.settings.keyboard import (
    ANY,
    NAMED_KEYS,
    clash,
    keys_in_force,
    written_key,
    written_keys,
)
from desktop_agent.core.settings.values import declared_settings
from desktop_agent.ui.part_keys import PLACE_KEYS
from desktop_agent.ui.window.actions import Actions


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("ctrl+shift+f", "Ctrl+Shift+F"),
        ("Shift + Ctrl + PageDown", "Ctrl+Shift+PgDown"),
        ("Alt+Meta+ä", "Meta+Alt+Ä"),
        ("Ctrl++", "Ctrl++"),
        ("Ctrl+,", "Ctrl+,"),
        ("shift+f35", "Shift+F35"),
        ("ctrl+k ctrl+s", "Ctrl+K, Ctrl+S"),
        ("Ctrl+K, s", "Ctrl+K, S"),
        ("Ctrl+, Ctrl++ F5", "Ctrl+,, Ctrl++, F5"),
    ],
)
def test_keys_are_kept_as_qt_writes_them(written: str, kept: str) -> None:
    assert written_key(written) == kept == QKeySequence(kept).toString(QKeySequence.SequenceFormat.PortableText)


def test_every_named_key_is_one_of_qt() -> None:
    keys = [f"Ctrl+{name}" for name in NAMED_KEYS]
    assert [QKeySequence(each).toString(QKeySequence.SequenceFormat.PortableText) for each in keys] == keys


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("a", "used for writing"),
        ("Shift+Return", "used for writing"),
        ("Ctrl+", "is no key"),
        ("Ctrl+Nope", "is no key"),
        ("s, Ctrl+S", "used for writing"),
        ("Ctrl+K, Ctrl", "is no key"),
        ("Ctrl+A Ctrl+B Ctrl+C Ctrl+D Ctrl+E", "no more than 4 keys"),
        ("Hyper+F", "none of Meta, Ctrl, Alt, Shift"),
    ],
)
def test_what_cannot_be_used_says_why(written: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        written_key(written)


def test_keys_that_people_write_with_can_be_had_where_that_is_said() -> None:
    assert written_key("return", ("Enter", "Up")) == "Enter"
    assert written_key("n", ANY) == "N"
    with pytest.raises(ValueError, match="used for writing"):
        written_key("Space", ("Enter", "Up"))


def test_a_list_is_kept_without_blanks_and_doubles() -> None:
    assert written_keys(["ctrl+g", " ", "Ctrl+G", "F5"]) == ("Ctrl+G", "F5")
    assert written_keys("Ctrl+,") == ("Ctrl+,",)


def test_of_two_actions_that_want_the_same_keys_the_one_that_the_user_chose_has_them() -> None:
    defaults = {"find": ("Ctrl+F",), "search": ("Ctrl+Shift+F",), "quit": ("Ctrl+Q",)}
    wanted = defaults | {"search": ("Ctrl+F", "F5"), "quit": ("F5", "F6")}
    assert keys_in_force(wanted, defaults) == {"find": (), "search": ("Ctrl+F", "F5"), "quit": ("F6",)}


def test_keys_with_which_others_begin_are_had_by_one_action_only() -> None:
    defaults = {"palette": ("Ctrl+K",), "save": ("F9",)}
    assert keys_in_force(defaults | {"save": ("Ctrl+K, Ctrl+S",)}, defaults) == {
        "palette": (),
        "save": ("Ctrl+K, Ctrl+S",),
    }
    assert clash("Ctrl+K", "Ctrl+K, S")
    assert clash("Ctrl+Return", "Ctrl+Enter")
    assert not clash("Ctrl+K, S", "Ctrl+K, T")


def test_a_part_of_the_window_has_its_keys_beside_those_that_work_everywhere() -> None:
    defaults = {"find": ("Ctrl+F",), "viewer.find": ("Ctrl+F",), "viewer.save": ("Ctrl+S",), "diff.find": ("Ctrl+F",)}
    assert keys_in_force(defaults, defaults) == defaults
    assert keys_in_force(defaults | {"viewer.save": ("Ctrl+F",)}, defaults)["viewer.find"] == ()


def test_the_keys_of_parts_are_declared_as_the_parts_have_them() -> None:
    declared = {
        key.removeprefix("keys."): (setting.about.title, setting.default)
        for key, setting in declared_settings().items()
        if setting.section.startswith("keys.")
    }
    assert declared == {each.name: (each.text, each.keys) for each in PLACE_KEYS if each.action}


def test_the_actions_of_the_window_are_declared_with_their_keys(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    portable = QKeySequence.SequenceFormat.PortableText
    in_window = {
        f"keys.{each.objectName()}": (each.text(), tuple(keys.toString(portable) for keys in each.shortcuts()))
        for each in Actions(window).all
    }
    declared = {
        key: (setting.about.title, setting.default)
        for key, setting in declared_settings().items()
        if setting.section == "keys"
    }
    assert declared == in_window
