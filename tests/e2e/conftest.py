import pytest
from PySide6.QtWidgets import QApplication

from tests.e2e.driver import ask_for_no_titles


@pytest.fixture
def ready_to_work(qapp: QApplication, monkeypatch: pytest.MonkeyPatch, expected_logs: list[str]) -> None:
    """The user has a key and asks for no titles, and the window may stand still.

    A test process has a heap ten times the application's, and cores that other tests use as well.
    """
    expected_logs.append("the window stands still")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-000000000000")
    ask_for_no_titles()
