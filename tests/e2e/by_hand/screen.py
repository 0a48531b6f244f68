"""A screen of a given size, and a user who sees and clicks from outside of the application.

Positions come over AT-SPI, as for a screen reader; clicks are events of the X server, over the same bus.
"""

import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from operator import attrgetter

from tests.assistive import PATIENCE_S, GoneError, Reader, Thing

_COMPONENT = "org.a11y.atspi.Component"
_DEVICES = ("org.a11y.atspi.Registry", "/org/a11y/atspi/registry/deviceeventcontroller")
_SCROLLED = ("transcript", "diffView", "changeList", "fileTree", "sessionList")
_REACTION_S = 0.5
"""The reaction time of a hand. A question accepts no answer in its first 0.3 seconds."""


@contextmanager
def screen(width: int, height: int) -> Generator[str]:
    argv = ["Xvfb", "-displayfd", "1", "-screen", "0", f"{width}x{height}x24", "-nolisten", "tcp"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        name = server.stdout.readline().strip()
        try:
            yield f":{name}"
        finally:
            server.terminate()


class Onlooker:
    """A user with a screen reader who clicks things and checks that they are on the screen. `clicks` counts."""

    def __init__(self, reader: Reader, width: int, height: int) -> None:
        self._reader = reader
        self._size = (width, height)
        self.clicks = 0

    def click(self, name: str) -> None:
        """Click the middle of the named object once it is usable, and wait for a change."""
        thing = self._reader.wait_for(name)
        self._mouse(thing, "abs")
        self._wait(_REACTION_S)
        assert self.outside(thing) == "", f"{name} is off the screen"
        self._mouse(thing, "b1c")
        self.clicks += 1
        self.until(lambda: not _can_be_used(thing), f"{name} was pressed")

    def see_text(self, name: str, text: str) -> None:
        self.until(lambda: text in self._reader.use(attrgetter("text"), name), f"{text!r} is written in {name}")

    def until(self, look: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not look():
            assert time.monotonic() < end, f"never saw that {what}"
            self._reader.wait()

    def outside(self, thing: Thing) -> str:
        """Describe the place of a thing that is partly off the screen; empty if it is on the screen."""
        x, y, width, height = place(thing)
        is_inside = x >= 0 and y >= 0 and x + width <= self._size[0] and y + height <= self._size[1]
        return "" if is_inside else f"{thing.object_name or thing.name}: {x},{y} {width}x{height}"

    def everything_outside(self) -> list[str]:
        """Return the visible things that are partly off the screen, without those that can be scrolled."""
        found: list[str] = []
        for thing in self._reader.everything(but_in=_SCROLLED):
            with suppress(GoneError):
                if where := self.outside(thing):
                    found.append(where)
        return found

    def _mouse(self, thing: Thing, what: str) -> None:
        """Send a mouse event to the middle of a thing; `what` is AT-SPI's name of the event."""
        x, y, width, height = place(thing)
        event = (x + width // 2, y + height // 2, what)
        thing.bus.call(*_DEVICES, "org.a11y.atspi.DeviceEventController", "GenerateMouseEvent", "iis", *event)

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._reader.wait()


def place(thing: Thing) -> tuple[int, int, int, int]:
    """Return the left, top, width and height of a thing on the screen."""
    return tuple(thing.bus.call(thing.owner, thing.path, _COMPONENT, "GetExtents", "u", 0))


def _can_be_used(thing: Thing) -> bool:
    try:
        return thing.is_showing and thing.can_be_used
    except GoneError:
        return False
