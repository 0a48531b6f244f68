import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.mcp.connection import Connection, ServerPool
from desktop_agent.core.mcp.definition import Program, ServerDefinition

PROGRAM = Path(__file__).with_name("program.py")

Connect = Callable[..., Connection]


def server(*behaviours: str, name: str = "program", **limits: float) -> ServerDefinition:
    program = Program(command=sys.executable, args=("-S", str(PROGRAM), *behaviours))
    return ServerDefinition(name=name, reached_by=program, **limits)  # pyright: ignore[reportArgumentType] -- numbers


@pytest.fixture
async def pool(tmp_path: Path) -> AsyncIterator[ServerPool]:
    pool = ServerPool(SystemClock(), dict(os.environ), tmp_path / "logs")
    yield pool
    await pool.aclose()


@pytest.fixture
def connect(pool: ServerPool, tmp_path: Path) -> Connect:
    workspace = tmp_path / "workspace"
    workspace.mkdir()

    def connect(definition: ServerDefinition) -> Connection:
        return pool.lease(definition, workspace).connection

    return connect
