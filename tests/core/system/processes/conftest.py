"""A runner, and commands for it."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.system.processes.runner import Command, ProcessRunner


@pytest.fixture
async def runner() -> AsyncIterator[ProcessRunner]:
    runner = ProcessRunner(SystemClock(), grace_s=0.3)
    yield runner
    await runner.aclose()


def shell(script: str, folder: Path, *, tty: bool = False) -> Command:
    return Command(argv=("/bin/bash", "-c", script), cwd=folder, environ=os.environ, tty=tty)
