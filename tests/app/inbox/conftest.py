import subprocess
from collections.abc import Callable

import msgspec
import pytest

from tests.app.conftest import StartService
from tests.app.inbox.service import Mode


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
def desktop(start_service: StartService) -> Callable[[Mode], Desktop]:
    return lambda mode: Desktop(start_service("tests.app.inbox.service", mode))
