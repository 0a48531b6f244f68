from pathlib import Path

import pytest

from tests.core.agents.scene import Scene


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)
