"""Dumps all threads when a test hangs, without an alarm for each of twelve thousand tests.

pytest's own `faulthandler_timeout` starts a thread for each test, which takes some milliseconds.
"""

import faulthandler
import os
import time
from typing import Final

import pytest

HANGS_S: Final = 600
"""Longer than the longest test of `--profile nightly`: a dump of running threads may crash them."""
_EVERY_S: Final = 60
"""How often the alarm is postponed: a hang is reported after `HANGS_S`, or up to so much later."""


class HangGuard:
    """A plugin. Must be made while nothing is captured."""

    def __init__(self) -> None:
        self._out = os.dup(2)
        self._armed_s: float | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self) -> None:
        now_s = time.monotonic()
        if self._armed_s is None or now_s - self._armed_s > _EVERY_S:
            faulthandler.dump_traceback_later(HANGS_S + _EVERY_S, file=self._out)
            self._armed_s = now_s

    def pytest_unconfigure(self) -> None:
        faulthandler.cancel_dump_traceback_later()
        os.close(self._out)
