"""Fixtures of the core's tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.system.processes.runner import ProcessRunner
from tests.harness import Ground


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    """An isolated home and workspace for sessions."""
    return Ground(tmp_path / "ground")


@pytest.fixture
async def runner() -> AsyncIterator[ProcessRunner]:
    """What runs processes, and does not wait long for those that do not end."""
    runner = ProcessRunner(SystemClock(), grace_s=0.3)
    yield runner
    await runner.aclose()
