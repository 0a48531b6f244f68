"""An isolated home, and a workspace."""

from pathlib import Path

import pytest

from tests.harness import Ground


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path / "ground")
