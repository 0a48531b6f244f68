from pathlib import Path

import pytest

from tests.e2e.run.agent import BEFORE, Agent


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "a.py").write_bytes(BEFORE)
    return folder


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-000000000000")


@pytest.fixture
def agent(capsys: pytest.CaptureFixture[str]) -> Agent:
    return Agent(capsys)
