from pathlib import Path

import pytest

from tests.e2e.journeys.legs import LEGS, WRONG


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "sums"
    folder.mkdir()
    for leg in LEGS.values():
        (folder / leg.file).write_text(WRONG, encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for leg in LEGS.values():
        monkeypatch.setenv(leg.key_variable, leg.key)
