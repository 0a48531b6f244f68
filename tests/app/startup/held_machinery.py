"""A window whose machinery is held back for as long as a test wants."""

import threading
from collections.abc import Callable

import pytest

from desktop_agent.composition.workbench import Workbench
from tests.app.conftest import Journey
from tests.e2e.driver import Driver

BeginWith = Callable[[list[str], Journey], None]
"""Starts the application with these arguments; the journey begins before the machinery is loaded."""

OTHER_ID = "20261121-100000-fedcba"
TURNS = 3


class Machinery:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.may_load = threading.Event()
        self.fault: Exception | None = None
        build = Workbench.__init__

        def held(*arguments: object, **options: object) -> None:
            assert self.may_load.wait(60)
            if self.fault is not None:
                raise self.fault
            build(*arguments, **options)  # pyright: ignore[reportArgumentType] - whatever it is built with

        monkeypatch.setattr(Workbench, "__init__", held)


async def load(user: Driver, machinery: Machinery) -> None:
    ready: list[bool] = []
    user.window.ready.connect(lambda: ready.append(True))
    machinery.may_load.set()
    await user.until_true(lambda: bool(ready), "the window is ready")
