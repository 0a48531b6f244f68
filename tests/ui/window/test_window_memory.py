"""The window's remembered models and choices come back; damaged ones count as missing."""

from pathlib import Path

import pytest
from PySide6.QtCore import QSettings

from desktop_agent.ui.window.main_window import KeptChoice, WindowMemory

MODELS = [("anthropic", "", "opus-5"), ("openrouter", "wörk", 'qwen/"x", [y]')]


def memory(path: Path) -> tuple[WindowMemory, QSettings]:
    store = QSettings(str(path), QSettings.Format.IniFormat)
    return WindowMemory(store), store


def test_models_come_back_in_their_order(tmp_path: Path) -> None:
    kept, store = memory(tmp_path / "window.ini")
    kept.remember_models("favourite_models", MODELS)
    kept.remember_models("recent_models", MODELS[:1])
    store.sync()
    again, _ = memory(tmp_path / "window.ini")
    assert list(again.models("favourite_models")) == MODELS
    assert list(again.models("recent_models")) == MODELS[:1]


def test_choices_come_back_the_last_first(tmp_path: Path) -> None:
    kept, store = memory(tmp_path / "window.ini")
    choices: list[KeptChoice] = [("file", 'a "b".py'), ("action", "quit")]
    kept.remember_choices(choices)
    store.sync()
    again, _ = memory(tmp_path / "window.ini")
    assert list(again.choices) == choices


@pytest.mark.parametrize("damage", ["", "[", "[[1, 2, 3]]", '{"a": 1}', '[["a", "b"]]'])
def test_what_is_damaged_is_not_kept(tmp_path: Path, damage: str) -> None:
    kept, store = memory(tmp_path / "window.ini")
    store.setValue("favourite_models", damage)
    store.setValue("recent_choices", damage)
    assert list(kept.models("favourite_models")) == []
    assert list(kept.choices) == []
