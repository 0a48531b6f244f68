"""The pickers show the effective mode and ask for another; they store nothing."""

from typing import get_args

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QTranslator
from PySide6.QtGui import QAction
from PySide6.QtTest import QSignalSpy
from PySide6.QtWidgets import QApplication, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol.model import ApprovalPolicy, ModelRef, SandboxMode
from desktop_agent.ui.window.mode_pickers import ModePickers

SONNET = ModelRef(provider="anthropic", model="claude-sonnet-5-5")
DEMO = ModelRef(provider="demo", model="demo")


@pytest.fixture
def parent(qtbot: QtBot) -> QWidget:
    """The test keeps it: a widget without a parent lives as long as its Python object."""
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.show()
    return parent


@pytest.fixture
def pickers(parent: QWidget) -> ModePickers:
    return ModePickers(parent)


def choices(button: QToolButton) -> list[QAction]:
    return button.menu().actions()


def checked(button: QToolButton) -> list[str]:
    return [action.iconText() for action in choices(button) if action.isChecked()]


def asked_for(spy: QSignalSpy) -> list[object]:
    return [spy.at(place)[0] for place in range(spy.count())]


def test_without_a_session_there_is_nothing_to_pick(pickers: ModePickers) -> None:
    buttons = (pickers.model_button, pickers.approval_button, pickers.sandbox_button)
    assert not any(button.isVisible() for button in buttons)
    assert [button.accessibleName() for button in buttons] == ["Model", "Approvals", "Sandbox"]


def test_the_sessions_mode_is_shown_and_followed_and_another_model_told_once(pickers: ModePickers) -> None:
    shown = QSignalSpy(pickers.model_shown)
    pickers.show_mode(SONNET, "on_write", "restricted")
    assert pickers.model_button.isVisible()
    assert pickers.model_button.text() == "claude-sonnet-5-5 ▾"
    assert "claude-sonnet-5-5 by Anthropic" in pickers.model_button.toolTip()
    pickers.show_mode(SONNET, "never", "restricted")
    pickers.show_mode(DEMO, "always", "restricted")
    assert pickers.model_button.text() == "Demo model ▾"
    assert "no key" in pickers.model_button.toolTip()
    assert checked(pickers.approval_button) == ["Asks before every call"]
    assert asked_for(shown) == [SONNET, DEMO]


def test_the_button_says_what_people_call_the_model_and_the_tooltip_its_name(pickers: ModePickers) -> None:
    pickers.show_mode(SONNET, "on_write", "restricted")
    pickers.show_label(SONNET, "Claude Sonnet 5.5")
    assert pickers.model_button.text() == "Claude Sonnet 5.5 ▾"
    assert "claude-sonnet-5-5 by Anthropic" in pickers.model_button.toolTip()
    pickers.model_button.set_short(is_short=True)
    assert pickers.model_button.text() == "Sonnet 5.5 ▾"
    pickers.model_button.set_short(is_short=False)
    pickers.show_mode(replace(SONNET, effort="high"), "on_write", "restricted")
    assert pickers.model_button.text() == "Claude Sonnet 5.5 · high ▾"
    pickers.show_mode(replace(SONNET, model="claude-opus-5-5"), "on_write", "restricted")
    assert pickers.model_button.text() == "claude-opus-5-5 ▾"
    pickers.show_label(SONNET, "Claude Sonnet 5.5")
    assert pickers.model_button.text() == "claude-opus-5-5 ▾", "what was found of another model comes too late"


def test_every_policy_can_be_chosen_and_is_shown_as_what_it_comes_to(pickers: ModePickers) -> None:
    assert [action.data() for action in choices(pickers.approval_button)] == ["plan", *get_args(ApprovalPolicy)]
    for policy in get_args(ApprovalPolicy):
        pickers.show_mode(SONNET, policy, "restricted")
        (shown,) = checked(pickers.approval_button)
        assert pickers.approval_button.text() == f"{shown} ▾"
        assert (shown == "Asks before writing") is (policy == "on_write")


def test_whose_model_it_is_and_which_keys_choose_another_is_in_the_tool_tip(pickers: ModePickers) -> None:
    pickers.show_mode(ModelRef(provider="openai", model="gpt", account="work"), "on_write", "restricted")
    pickers.set_model_keys("Ctrl+Shift+M")
    assert "gpt by OpenAI (work)\nCtrl+Shift+M" in pickers.model_button.toolTip()
    assert pickers.model_button.accessibleDescription() == "gpt by OpenAI (work)"


def test_how_much_effort_is_asked_for_stands_beside_the_model(pickers: ModePickers) -> None:
    pickers.show_mode(ModelRef(provider="openai", model="gpt", effort="high"), "on_write", "restricted")
    assert pickers.model_button.text() == "gpt · high ▾"
    assert pickers.model_button.accessibleDescription() == "gpt by OpenAI, high effort"


def test_the_effort_of_a_model_that_has_levels_is_chosen_beside_it(pickers: ModePickers) -> None:
    gpt = ModelRef(provider="openai", model="gpt", effort="high")
    pickers.show_mode(gpt, "on_write", "restricted")
    assert not pickers.effort_button.isVisible()
    pickers.show_label(gpt, "GPT", ("low", "high"))
    assert (pickers.model_button.text(), pickers.effort_button.text()) == ("GPT ▾", "Effort: high ▾")
    assert [action.iconText() for action in choices(pickers.effort_button)] == ["default", "low", "high"]
    assert checked(pickers.effort_button) == ["high"]
    asked = QSignalSpy(pickers.effort_chosen)
    for action in choices(pickers.effort_button)[:2]:
        action.trigger()
    assert asked_for(asked) == ["", "low"]
    pickers.show_mode(replace(gpt, effort=""), "on_write", "restricted")
    assert pickers.effort_button.text() == "Effort: default ▾"
    assert checked(pickers.effort_button) == ["default"]
    pickers.show_mode(replace(gpt, model="gpt-mini"), "on_write", "restricted")
    assert not pickers.effort_button.isVisible()


class Marked(QTranslator):
    def translate(self, context: str, sourceText: str, disambiguation: str | None = None, n: int = -1) -> str:  # noqa: N803 - Qt's name
        return f"[{sourceText}]"

    def isEmpty(self) -> bool:  # noqa: N802 - Qt's name
        return False


def test_the_models_own_effort_is_said_in_the_windows_language(pickers: ModePickers, qapp: QApplication) -> None:
    gpt = ModelRef(provider="openai", model="gpt")
    translator = Marked()
    qapp.installTranslator(translator)
    try:
        pickers.show_mode(gpt, "on_write", "restricted")
        pickers.show_label(gpt, "GPT", ("low",))
        assert pickers.effort_button.text() == "[Effort: [default]] ▾"
        assert [action.iconText() for action in choices(pickers.effort_button)] == ["[default]", "low"]
    finally:
        qapp.removeTranslator(translator)


def test_a_very_long_name_is_cut_on_the_button_and_whole_in_the_tool_tip(pickers: ModePickers) -> None:
    long = ModelRef(provider="anthropic", model="m" * 200)
    pickers.show_mode(long, "on_write", "restricted")
    assert len(pickers.model_button.text()) < 40
    assert "m" * 200 in pickers.model_button.toolTip()


def test_picking_asks_and_changes_nothing_until_the_session_says_so(pickers: ModePickers) -> None:
    pickers.show_mode(SONNET, "on_write", "restricted")
    approval, sandbox = QSignalSpy(pickers.mode_chosen), QSignalSpy(pickers.sandbox_chosen)
    plan, always, *_ = choices(pickers.approval_button)
    always.trigger()
    plan.trigger()
    choices(pickers.sandbox_button)[2].trigger()
    assert [approval.at(0), approval.at(1)] == [["always", False], [None, True]]
    assert asked_for(sandbox) == ["none"]
    assert pickers.approval_button.text() == "Asks before writing ▾"
    assert pickers.sandbox_button.text() == "Sandbox: this folder ▾"


@pytest.mark.parametrize(
    ("mode", "label"),
    [("restricted", "Sandbox: this folder ▾"), ("strict", "Sandbox: read-only ▾"), ("none", "No sandbox ▾")],
)
def test_the_sandbox_in_force_is_shown_and_none_is_a_warning(
    pickers: ModePickers, mode: SandboxMode, label: str
) -> None:
    assert [action.data() for action in choices(pickers.sandbox_button)] == list(get_args(SandboxMode))
    pickers.show_mode(SONNET, "on_write", mode)
    assert pickers.sandbox_button.text() == label
    assert checked(pickers.sandbox_button) == [label.removesuffix(" ▾")]
    assert pickers.sandbox_button.property("variant") == ("warning" if mode == "none" else "")


def test_every_choice_says_what_it_comes_to(pickers: ModePickers) -> None:
    for button in (pickers.approval_button, pickers.sandbox_button):
        assert all(action.text().count("\t") == 1 and action.toolTip() for action in choices(button))
    assert "refused" in choices(pickers.approval_button)[-1].text()


@pytest.mark.parametrize("is_told_first", [True, False])
def test_a_sandbox_that_is_not_there_is_never_shown_as_if_it_were(pickers: ModePickers, is_told_first: bool) -> None:
    def tell() -> None:
        pickers.show_sandbox_availability(False, "Install <bubblewrap>.")

    if is_told_first:
        tell()
    pickers.show_mode(SONNET, "on_write", "restricted")
    if not is_told_first:
        tell()
    button = pickers.sandbox_button
    assert button.text() == "Sandbox not available ▾"
    assert "Install &lt;bubblewrap&gt;." in button.toolTip()
    assert button.accessibleDescription() == "Install <bubblewrap>."
    assert button.property("variant") == "warning"
    pickers.show_mode(SONNET, "on_write", "none")
    assert button.text() == "No sandbox ▾"
    pickers.show_mode(SONNET, "on_write", "strict")
    pickers.show_sandbox_availability(True, "")
    assert (button.text(), button.property("variant")) == ("Sandbox: read-only ▾", "")


def test_where_there_is_too_little_room_the_beginning_stays(pickers: ModePickers) -> None:
    button = pickers.approval_button
    button.set_texts("Fragt vor dem Schreiben ▾", "Fragt vor dem Schreiben ▾")
    button.set_short(is_short=True, less=40)
    words = button.text().removesuffix(" ▾")
    assert words.endswith("…")
    assert "Fragt vor dem Schreiben".startswith(words.removesuffix("…").rstrip())
