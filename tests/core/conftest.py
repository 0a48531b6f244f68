from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.system.processes.runner import ProcessRunner
from tests.harness import Ground


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path / "ground")


@pytest.fixture
async def runner() -> AsyncIterator[ProcessRunner]:
    runner = ProcessRunner(SystemClock(), grace_s=0.3)
    yield runner
    await runner.aclose()
