"""The window as a screen reader sees it, over AT-SPI.

The protocol: https://gitlab.gnome.org/GNOME/at-spi2-core/-/tree/main/xml
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# jeepney has no types for received messages.

import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest
from jeepney import DBusAddress, HeaderFields, MatchRule, Message, MessageType, new_method_call
from jeepney.io.blocking import DBusConnection, open_dbus_connection

from tests.command_line import PROGRAM
from tests.session_bus import session_bus

_ACCESSIBLE = "org.a11y.atspi.Accessible"
_ACTION = "org.a11y.atspi.Action"
_SHOWING = 25
"""The number of AT-SPI's state "showing"."""
_ENABLED = 8
_ASSERTIVE = 2
_PRESS = ("Press", "Toggle", "click", "ShowMenu")
PATIENCE_S = 60.0
_LISTENING_S = 0.5

_T = TypeVar("_T")


class GoneError(Exception):
    pass


class Bus:
    def __init__(self, connection: DBusConnection) -> None:
        self._connection = connection

    def call(self, name: str, path: str, interface: str, member: str, signature: str = "", *body: object) -> Any:
        """Call a method and return its answer. Raise `GoneError` if the object is gone."""
        message = new_method_call(
            DBusAddress(path, bus_name=name, interface=interface), member, signature or None, body
        )
        reply = self._connection.send_and_get_reply(message, timeout=PATIENCE_S)
        if reply.header.message_type is not MessageType.method_return:
            raise GoneError(member, reply.body)
        return reply.body[0] if reply.body else None

    def applications(self) -> "list[Thing]":
        root = Thing(self, "org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root")
        return root.children()


class Thing(NamedTuple):
    """An object of the window, by its address on the bus."""

    bus: Bus
    owner: str
    path: str

    def _ask(self, interface: str, member: str, signature: str = "", *body: object) -> Any:
        return self.bus.call(self.owner, self.path, interface, member, signature, *body)

    def _property(self, name: str, interface: str = _ACCESSIBLE) -> Any:
        return self._ask("org.freedesktop.DBus.Properties", "Get", "ss", interface, name)[1]

    def children(self) -> "list[Thing]":
        return [Thing(self.bus, owner, path) for owner, path in self._ask(_ACCESSIBLE, "GetChildren")]

    @property
    def name(self) -> str:
        return self._property("Name")

    @property
    def description(self) -> str:
        return self._property("Description")

    @property
    def object_name(self) -> str:
        return self._property("AccessibleId").rpartition(".")[2]

    @property
    def role(self) -> str:
        return self._ask(_ACCESSIBLE, "GetRoleName")

    def has_state(self, number: int) -> bool:
        low, high = self._ask(_ACCESSIBLE, "GetState")
        return bool((low | high << 32) >> number & 1)

    @property
    def is_showing(self) -> bool:
        return self.has_state(_SHOWING)

    @property
    def can_be_used(self) -> bool:
        return self.has_state(_ENABLED)

    @property
    def text(self) -> str:
        return self._ask("org.a11y.atspi.Text", "GetText", "ii", 0, -1)

    @property
    def middle(self) -> tuple[int, int]:
        """Its middle in pixels of the screen, or on Wayland of its window."""
        left, top, width, height = self._ask("org.a11y.atspi.Component", "GetExtents", "u", 0)
        return left + width // 2, top + height // 2

    def write(self, text: str) -> None:
        self._ask("org.a11y.atspi.EditableText", "SetTextContents", "s", text)

    def press(self) -> None:
        count = self._property("NActions", _ACTION)
        names = [self._ask(_ACTION, "GetName", "i", number) for number in range(count)]
        name = next(name for name in _PRESS if name in names)
        self._ask(_ACTION, "DoAction", "i", names.index(name))

    def shown(self, closed: Collection[str] = ()) -> "Iterator[Thing]":
        """Yield the object and all that is visible in it, except what is inside objects named in `closed`."""
        pending: list[Thing] = [self]
        while pending:
            thing = pending.pop()
            with suppress(GoneError):
                if thing.is_showing:
                    yield thing
                    if not closed or thing.object_name not in closed:
                        pending.extend(reversed(thing.children()))


class Announcement(NamedTuple):
    text: str
    is_urgent: bool
    """Whether it interrupts the present speech."""


class Reader:
    def __init__(self, connection: DBusConnection, happened: "deque[Message]", announced: "Sequence[Message]") -> None:
        """`happened` collects the application's events, `announced` its announcements."""
        self._bus = Bus(connection)
        self._connection = connection
        self._happened = happened
        self._announced = announced

    def find(self, *names: str) -> Thing | None:
        """Return the first usable object with one of these names, visible or internal."""
        for thing in self.everything():
            try:
                if (thing.name in names or thing.object_name in names) and thing.can_be_used:
                    return thing
            except GoneError:
                continue
        return None

    def wait_for(self, *names: str) -> Thing:
        end = time.monotonic() + PATIENCE_S
        while (found := self.find(*names)) is None:
            assert time.monotonic() < end, f"none of {names} ever came"
            self.wait()
        return found

    def use(self, do: Callable[[Thing], _T], *names: str) -> _T:
        """Wait for an object and do this with it, or with its successor if it goes meanwhile."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            with suppress(GoneError):
                return do(self.wait_for(*names))
        raise AssertionError(f"{names} go whenever they are used")

    def press(self, *names: str) -> None:
        self.use(Thing.press, *names)

    def use_if_there(self, do: Callable[[Thing], object], *names: str) -> None:
        """Do this with an object unless it is not there, or goes meanwhile."""
        if (found := self.find(*names)) is not None:
            with suppress(GoneError):
                do(found)

    def wait(self) -> None:
        """Return at the application's next event, or soon: not every change is announced."""
        with suppress(TimeoutError):
            self._connection.recv_until_filtered(self._happened, timeout=_LISTENING_S)

    def announced(self) -> list[Announcement]:
        bodies = (message.body for message in self._announced)
        return [
            Announcement(str(text), is_urgent=politeness == _ASSERTIVE) for _, politeness, _, (_, text), *_ in bodies
        ]

    def wait_for_announcement(self, words: str) -> Announcement:
        end = time.monotonic() + PATIENCE_S
        while not (found := [one for one in self.announced() if words in one.text]):
            assert time.monotonic() < end, f"{words!r} was never said, but {self.announced()}"
            self.wait()
        return found[0]

    def choose(self, button: str, *entries: str) -> None:
        """Open the menu of a button, press an entry of it, then an entry of its submenu, and so on."""
        pressed = self.wait_for(button)
        for entry in entries:
            menu = self._open_menu(pressed)
            pressed = next(item for item in menu.children() if item.name == entry)
        pressed.press()

    def _open_menu(self, pressed: Thing) -> Thing:
        """Press this, and return its menu. Menus announce themselves; no list of windows has them."""
        rule = MatchRule(type="signal", interface="org.a11y.atspi.Event.Object", member="StateChanged")
        with self._connection.filter(rule, bufsize=100) as told:
            pressed.press()
            while True:
                fields = self._connection.recv_until_filtered(told, timeout=PATIENCE_S).header.fields
                menu = Thing(self._bus, fields[HeaderFields.sender], fields[HeaderFields.path])
                with suppress(GoneError):
                    if menu.path != pressed.path and menu.role == "popup menu" and menu.is_showing:
                        return menu

    def everything(self, *, but_in: Collection[str] = ()) -> Iterator[Thing]:
        for application in self._bus.applications():
            yield from application.shown(but_in)


@contextmanager
def reading(session_bus: str) -> Generator[Reader]:
    """Be a screen reader on this session bus. The first question starts the bus for assistive programs."""
    with open_dbus_connection(bus=session_bus) as session:
        try:
            address = Bus(session).call("org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress")
        except GoneError:
            pytest.skip("at-spi2-core is not installed")
    with open_dbus_connection(bus=address) as connection:
        registry = ("org.a11y.atspi.Registry", "/org/a11y/atspi/registry", "org.a11y.atspi.Registry")
        Bus(connection).call(*registry, "RegisterEvent", "s", "object:")
        told = MatchRule(type="signal", interface="org.a11y.atspi.Event.Object")
        bus = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
        Bus(connection).call(*bus, "AddMatch", "s", told.serialise())
        said = MatchRule(type="signal", interface="org.a11y.atspi.Event.Object", member="Announcement")
        announced: deque[Message] = deque()
        with connection.filter(told, bufsize=1) as happened, connection.filter(said, queue=announced):
            yield Reader(connection, happened, announced)


@contextmanager
def application_read(home: Path, *arguments: str, **environment: str) -> Generator[Reader]:
    home.mkdir()
    with session_bus() as address:
        environ = os.environ | {
            "HOME": str(home),
            "DBUS_SESSION_BUS_ADDRESS": address,
            "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
            **environment,
        }
        argv = [*PROGRAM, *arguments]
        with reading(address) as reader, subprocess.Popen(argv, env=environ, cwd=home) as application:
            try:
                yield reader
            finally:
                application.send_signal(signal.SIGTERM)
                application.wait()
