"""The first turn of the demo and its undo, with a real mouse and keyboard, and what a later start opens."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.assistive import GoneError, Reader, Thing
from tests.e2e.screen import Screen


class Hand:
    """Sees the window as a screen reader does, and uses it as a person does."""

    def __init__(self, reader: Reader, screen: Screen) -> None:
        self.reader = reader
        self.screen = screen

    def click(self, *names: str) -> None:
        self._click(self.reader.wait_for(*names))

    def _click(self, thing: Thing) -> None:
        self.screen.click(*thing.middle)

    def until(self, look: Callable[[], bool]) -> None:
        while not look():
            self.reader.wait()

    def start_the_demo(self) -> None:
        self.click("demoButton")
        self.reader.wait_for("fileTree")
        self.until(lambda: "One of the tests" in self._message().text)

    def _message(self) -> Thing:
        return self.reader.wait_for("MessageEdit")

    def do_a_turn(self) -> None:
        """Type, send, and allow all that is asked."""
        self._click(self._message())
        self.screen.press("End")
        self.screen.write(" Thank you.")
        self.until(lambda: self._message().text.endswith(" Thank you."))
        self.screen.press("Return")
        while not any("The agent has finished" in one.text for one in self.reader.announced()):
            if (allow := self.reader.find("Allow once")) is not None:
                with suppress(GoneError):
                    self._click(allow)  # a question that has just come takes no answer yet
            self.reader.wait()

    @property
    def workspace(self) -> Path:
        return Path(self.reader.wait_for("workspaceButton").description)

    def undo_the_turn(self) -> None:
        self.click("undoTurnButton")
        self.reader.wait_for("redoButton")
