"""Servers and the vendors' own clients, without the settings of the user who runs the tests."""

import os

import pytest


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.upper().startswith(("OPENAI_", "ANTHROPIC_")) or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)
