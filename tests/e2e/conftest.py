import pytest
from PySide6.QtWidgets import QApplication

from tests.e2e.driver import ask_for_no_titles


@pytest.fixture
def ready_to_work(qapp: QApplication, monkeypatch: pytest.MonkeyPatch, expected_logs: list[str]) -> None:
    """Set a key, switch titles off, and expect stalls of the window.

    A test process has a larger heap than the application, and shares its cores with other tests.
    """
    expected_logs.append("the window stands still")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-000000000000")
    ask_for_no_titles()
