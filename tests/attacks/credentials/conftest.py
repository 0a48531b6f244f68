from collections.abc import Generator
from pathlib import Path

import pytest

from desktop_agent.core.providers.provider import RetryPolicy
from tests.attacks.credentials.world import KEYS, World
from tests.command_line import CommandLine


@pytest.fixture
def world(
    capsys: pytest.CaptureFixture[str], isolated_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Generator[World]:
    """Every test ends with the search for the credentials, in all that was written and said."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("desktop_agent.composition.application.RetryPolicy", lambda: RetryPolicy(max_tries=1))
    world = World(CommandLine(capsys), isolated_home, tmp_path)
    yield world
    world.tell_all()
    assert world.leaks() == []
