import os
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack

import msgspec
import pytest

from tests.app.inbox.service import Mode
from tests.session_bus import session_bus


class Desktop:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def next_call(self) -> list[object]:
        assert self._process.stdout is not None
        return msgspec.json.decode(self._process.stdout.readline(), type=list[object])

    def end(self) -> str:
        self._process.kill()
        assert self._process.stdout is not None
        rest = self._process.stdout.read()
        self._process.wait()
        return rest


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    with session_bus() as address:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        yield address


@pytest.fixture
def desktop(bus: str) -> Generator[Callable[[Mode], Desktop]]:
    del bus
    with ExitStack() as started:

        def start(mode: Mode) -> Desktop:
            argv = [sys.executable, "-m", "tests.app.inbox.service", mode]
            process = started.enter_context(subprocess.Popen(argv, env=os.environ, stdout=subprocess.PIPE, text=True))
            started.callback(process.kill)
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            return Desktop(process)

        yield start
