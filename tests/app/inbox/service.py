"""A server of notifications: `python -m tests.app.inbox.service MODE`, on the session bus.

It prints a line when it owns its name, then a JSON line for each call. The interface is that of
https://specifications.freedesktop.org/notification-spec/latest/.
"""

# jeepney has no complete types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false

import json
import sys
from typing import Literal, get_args

from jeepney import DBusAddress, HeaderFields, MessageType, new_error, new_method_return, new_signal
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

# Not the application's own names: importing it takes ten times as long as the rest.
NAME = "org.freedesktop.Notifications"
PATH = "/org/freedesktop/Notifications"

Mode = Literal["denying", "showing", "plain", "silent", "erring", "nonsense"]
"""`denying` and `showing`: press that button as soon as it is there. `plain`: has neither buttons nor markup.
`silent`: never answers. `erring`: answers with an error. `nonsense`: answers with something else."""

MODES: tuple[Mode, ...] = get_args(Mode)


def main(mode: Mode) -> None:
    number = 0
    with open_dbus_connection() as bus:
        bus.send_and_get_reply(message_bus.RequestName(NAME))
        print("ready", flush=True)
        while True:
            call = bus.receive()
            if call.header.message_type is not MessageType.method_call:
                continue
            member = call.header.fields[HeaderFields.member]
            print(json.dumps([member, *call.body], ensure_ascii=False), flush=True)
            if mode == "silent":
                continue
            if mode == "erring":
                bus.send(new_error(call, "org.freedesktop.DBus.Error.Failed", "s", ("out of order",)))
                continue
            if member == "GetCapabilities":
                can = ["body"] if mode == "plain" else ["actions", "body", "body-markup"]
                bus.send(new_method_return(call, "as", (can,)))
            elif member == "Notify" and mode == "nonsense":
                bus.send(new_method_return(call, "s", ("seven",)))
            elif member == "Notify":
                number = call.body[1] or number + 1
                bus.send(new_method_return(call, "u", (number,)))
                pressed = {"denying": "deny", "showing": "default"}.get(mode)
                if pressed is not None and pressed in call.body[5]:
                    emitter = DBusAddress(PATH, interface=NAME)
                    bus.send(new_signal(emitter, "ActionInvoked", "us", (number, pressed)))
            else:
                bus.send(new_method_return(call))


if __name__ == "__main__":
    assert sys.argv[1] in MODES
    main(sys.argv[1])
