"""What benchmarks do otherwise than tests."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def unsynced() -> None:
    """Wait for the disk, as the application does: that is part of what is measured."""
