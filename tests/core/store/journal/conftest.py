from pathlib import Path

import pytest

from desktop_agent.core.store.blobs import Blobs


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path / "blobs")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s" / "journal.jsonl"
