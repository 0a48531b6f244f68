"""The ground of the attacks: an isolated home, and a workspace beside things that must stay as they are."""

from pathlib import Path

import pytest

from tests.harness import Ground


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path / "ground")
