"""Pages in headless Chromium, driven by Playwright from npm."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.npm.programs import node, npm_folder
from tests.system_processes import SHARED

_DRIVER = Path(__file__).with_name("browser.mjs")
_NAMES = ("chromium", "chromium-browser", "google-chrome")


class Browser:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def __call__(self, method: str, *arguments: object) -> object:
        """Call a method of Playwright's page; return its result as plain data, or fail with its message."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([method, arguments]).encode() + b"\n")
        answer = json.loads(await self._process.stdout.readline() or b'{"error": "the browser is gone"}')
        assert "error" not in answer, answer["error"]
        return answer["result"]


@asynccontextmanager
async def browsing() -> AsyncGenerator[Browser]:
    """Start a browser for several tests, which each `open` a page. Without one they are skipped, or fail in CI."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        reason = "Chromium is not installed: `bash packaging/test.sh` installs it"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    packages = npm_folder("playwright-core") / "package.json"
    process = await asyncio.create_subprocess_exec(
        str(node()),
        str(_DRIVER),
        program,
        str(packages),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**22,
    )
    SHARED.add(process.pid)
    try:
        yield Browser(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()
        SHARED.remove(process.pid)
