"""Sessions with servers on real processes, called `program` by default."""

import asyncio
from pathlib import Path

import pytest

from desktop_agent.core.settings.live_settings import LiveSettings
from tests.core.mcp.conftest import PROGRAM
from tests.harness import Ground, ImpatientClock


class PatientClock(ImpatientClock):
    """A clock that really waits: a server's time without a call must pass as it does."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def with_servers(ground: Ground, *tables: str) -> None:
    path = ground.paths.config / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(f"[[mcp.definitions]]\n{table}" for table in tables))
    ground.live = LiveSettings.load(path, {})


def program(*behaviours: str, name: str = "program", more: str = "") -> str:
    arguments = ", ".join(f'"{word}"' for word in ("-S", str(PROGRAM), *behaviours))
    return f'name = "{name}"\ncommand = "python3"\nargs = [{arguments}]\n{more}'


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    ground = Ground(tmp_path)
    ground.clock = PatientClock()
    with_servers(ground, program())
    return ground
