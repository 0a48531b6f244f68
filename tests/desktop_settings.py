"""The settings portal of a desktop: `python -m tests.desktop_settings JSON`, on the session bus.

It prints a line when it owns its name. Each JSON line on its input is a change, confirmed by a line after its signal.
https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Settings.html
"""

# jeepney has no complete types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false

import json
import os
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from jeepney import DBusAddress, HeaderFields, Message, MessageType, new_error, new_method_return, new_signal
from jeepney.bus_messages import message_bus
from jeepney.io.threading import DBusConnection, open_dbus_connection

NAME = "org.freedesktop.portal.Desktop"
PATH = "/org/freedesktop/portal/desktop"
INTERFACE = "org.freedesktop.portal.Settings"

Values = Mapping[str, Mapping[str, int | bool]]
"""By namespace and key."""


class DesktopSettings:
    """A running portal in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def wait(self) -> None:
        """Return when the portal has confirmed the last order."""
        assert self._process.stdout is not None
        assert self._process.stdout.readline()

    def change(self, values: Values) -> None:
        """Change these values, and send the signal."""
        assert self._process.stdin is not None
        print(json.dumps(values), file=self._process.stdin, flush=True)
        self.wait()


@contextmanager
def desktop_settings(bus: str, values: Values) -> Generator[DesktopSettings]:
    argv = [sys.executable, "-m", "tests.desktop_settings", json.dumps(values)]
    environ = os.environ | {"DBUS_SESSION_BUS_ADDRESS": bus}
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True, env=environ) as process:
        portal = DesktopSettings(process)
        try:
            portal.wait()
            yield portal
        finally:
            process.kill()


def _variant(value: int | bool) -> tuple[str, int | bool]:
    return ("b", value) if isinstance(value, bool) else ("u", value)


def _answer(call: Message, values: dict[str, dict[str, int | bool]]) -> Message:
    match call.header.fields[HeaderFields.member]:
        case "ReadAll":
            found = {name: {key: _variant(value) for key, value in keys.items()} for name, keys in values.items()}
            return new_method_return(call, "a{sa{sv}}", (found,))
        case "ReadOne" | "Read" as member:
            namespace, key = call.body
            value = values.get(namespace, {}).get(key)
            if value is None:
                return new_error(call, "org.freedesktop.portal.Error.NotFound", "s", ("Requested setting not found",))
            variant = _variant(value)
            return new_method_return(call, "v", (variant if member == "ReadOne" else ("v", variant),))
        case _:
            return new_error(call, "org.freedesktop.DBus.Error.UnknownMethod", "s", ("not here",))


def _change(bus: DBusConnection, values: dict[str, dict[str, int | bool]]) -> None:
    emitter = DBusAddress(PATH, interface=INTERFACE)
    for line in sys.stdin:
        for namespace, keys in json.loads(line).items():
            for key, value in keys.items():
                values.setdefault(namespace, {})[key] = value
                bus.send(new_signal(emitter, "SettingChanged", "ssv", (namespace, key, _variant(value))))
        print("told", flush=True)


def main(values: dict[str, dict[str, int | bool]]) -> None:
    bus = open_dbus_connection()
    bus.send(message_bus.RequestName(NAME))
    print("ready", flush=True)
    threading.Thread(target=_change, args=(bus, values), daemon=True).start()
    while True:
        call = bus.receive()
        if call.header.message_type is MessageType.method_call:
            bus.send(_answer(call, values))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
