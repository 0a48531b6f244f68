import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

PATIENCE_S = 120
"""Long, as only failing tests wait for it."""


class Victim:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    async def ask(self, url: str, **order: object) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE_S):
            return await asyncio.to_thread(self._asked, {"url": url, **order})

    def _asked(self, order: dict[str, object]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the client died with {self._process.wait()}"
        return json.loads(line)


@pytest.fixture(scope="module")
def victim() -> Generator[Victim]:
    if not sys.platform.startswith("linux"):
        pytest.skip("memory is measured by /proc")
    environ = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environ = {name: value for name, value in environ.items() if not name.startswith("ANTHROPIC_")}
    command = [sys.executable, "-m", "tests.attacks.providers.victim"]
    root = Path(__file__).parents[3]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, cwd=root, env=environ) as process:
        try:
            yield Victim(process)
        finally:
            process.kill()
