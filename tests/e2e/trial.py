"""The first turn of the demo and its undo, with a real mouse and keyboard, and what a later start opens.

`packaging/trials.sh` runs this file for a program that is installed in another system.
"""

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from operator import attrgetter
from pathlib import Path
from urllib.parse import quote

from tests.assistive import PATIENCE_S, Reader, Thing, reading
from tests.e2e.screen import Screen, wayland, xorg

_USER = 1000


class Hand:
    """Sees the window as a screen reader does, and uses it as a person does."""

    def __init__(self, reader: Reader, screen: Screen) -> None:
        self.reader = reader
        self.screen = screen

    def click(self, *names: str) -> None:
        self.reader.use(self._click, *names)

    def _click(self, thing: Thing) -> None:
        self.screen.click(*thing.middle)

    def until(self, look: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not look():
            assert time.monotonic() < end, f"never saw that {what}"
            self.reader.wait()

    def start_the_demo(self) -> None:
        self.click("demoButton")
        self.reader.wait_for("fileTree")
        self.until(lambda: "One of the tests" in self._message, "a prompt is offered")

    @property
    def _message(self) -> str:
        return self.reader.use(attrgetter("text"), "MessageEdit")

    def do_a_turn(self) -> None:
        """Type, send, and allow all that is asked."""
        self.click("MessageEdit")
        self.screen.press("End")
        self.screen.write(" Thank you.")
        self.until(lambda: self._message.endswith(" Thank you."), "the words are typed")
        self.screen.press("Return")
        self.until(self._is_finished, "the agent has finished")

    def _is_finished(self) -> bool:
        self.reader.use_if_there(self._click, "Allow once")  # a question that has just come takes no answer yet
        return any("The agent has finished" in one.text for one in self.reader.announced())

    @property
    def workspace(self) -> Path:
        return Path(self.reader.use(attrgetter("description"), "workspaceButton"))

    def undo_the_turn(self) -> None:
        self.click("undoTurnButton")
        self.reader.wait_for("redoButton")


def try_the_entry(entry: Path, pictures: Path, enter: Sequence[str], screen: Screen) -> None:
    """Start an entry of a menu, and once more for a folder, by a command that enters the system of the entry."""
    [started] = (line for line in entry.read_text().splitlines() if line.startswith("Exec="))
    program, _ = shlex.split(started.removeprefix("Exec="))
    with tempfile.TemporaryDirectory(prefix="runtime-") as folder, ExitStack() as running:
        runtime = Path(screen.environment.get("XDG_RUNTIME_DIR", folder))
        os.chown(runtime, _USER, _USER)
        address = f"unix:path={runtime}/bus"
        environment = os.environ | screen.environment | {"XDG_RUNTIME_DIR": str(runtime), "HOME": str(runtime)}
        environment |= {"DBUS_SESSION_BUS_ADDRESS": address, "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1"}
        argv = ["dbus-daemon", "--session", "--nofork", f"--address={address}", "--print-address=1"]
        bus = subprocess.Popen(argv, stdout=subprocess.PIPE, env=environment, user=_USER, group=_USER, extra_groups=[])
        running.callback(bus.terminate)
        assert bus.stdout is not None
        bus.stdout.readline()
        application = subprocess.Popen([*enter, program], env=environment)
        running.callback(application.kill)
        with _as_user(), reading(address) as reader:
            hand = Hand(reader, screen)
            try:
                hand.start_the_demo()
                hand.do_a_turn()
                screen.picture(pictures.with_name(f"{pictures.name}-turn.png"))
                hand.undo_the_turn()
                screen.picture(pictures.with_name(f"{pictures.name}-undone.png"))
                other = Path("/home/user/another place")
                subprocess.check_call([*enter, "mkdir", "-p", str(other)], user=0)
                subprocess.check_call([*enter, program, f"file://{quote(str(other))}"], env=environment, user=0)
                hand.until(lambda: hand.workspace == other, "the other folder is shown")
            finally:
                screen.picture(pictures.with_name(f"{pictures.name}-last.png"))
        application.terminate()
        assert application.wait(PATIENCE_S) == 0, application.returncode


@contextmanager
def _as_user() -> Generator[None]:
    """Buses take connections of their own user only."""
    os.seteuid(_USER)
    try:
        yield
    finally:
        os.seteuid(0)


if __name__ == "__main__":
    kind, entry, pictures, *enter = sys.argv[1:]
    with wayland(_USER) if kind == "wayland" else xorg() as screen:
        try_the_entry(Path(entry), Path(pictures), enter, screen)
