"""A portal that asks for files, on the session bus of a test: `python -m tests.app.portal_service MODE ANSWER`.

Prints `ready`, then each question as a line of JSON.
"""

# jeepney has no complete types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

import json
import sys
from typing import Literal, get_args

from jeepney import DBusAddress, HeaderFields, MessageType, new_error, new_method_return, new_signal
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

from tests.desktop_settings import NAME as PORTAL
from tests.desktop_settings import PATH as PORTAL_PATH

Mode = Literal["choosing", "cancelling", "silent", "erring", "old", "nonsense"]
"""`choosing`: answers with the given address. `silent`: never says that it asks. `erring`: cannot ask.
`old`: cannot ask for folders. `nonsense`: answers with something else."""

MODES: tuple[Mode, ...] = get_args(Mode)


def main(mode: Mode, answer: str) -> None:
    with open_dbus_connection() as bus:
        bus.send_and_get_reply(message_bus.RequestName(PORTAL))
        print("ready", flush=True)
        while True:
            call = bus.receive()
            if call.header.message_type is not MessageType.method_call or mode == "silent":
                continue
            member = call.header.fields[HeaderFields.member]
            if member == "Get":
                bus.send(new_method_return(call, "v", (("u", 2 if mode == "old" else 4),)))
            elif member in ("OpenFile", "SaveFile") and mode != "erring":
                print(json.dumps([member, *call.body], default=bytes.hex), flush=True)
                path = f"{PORTAL_PATH}/request/1/{call.body[2]['handle_token'][1]}"
                bus.send(new_method_return(call, "o", (path,)))
                emitter = DBusAddress(path, interface="org.freedesktop.portal.Request")
                uris = ("s", "seven") if mode == "nonsense" else ("as", [answer])
                body = (1, {}) if mode == "cancelling" else (0, {"uris": uris})
                bus.send(new_signal(emitter, "Response", "ua{sv}", body))
            else:
                bus.send(new_error(call, "org.freedesktop.DBus.Error.Failed", "s", ("out of order",)))


if __name__ == "__main__":
    assert sys.argv[1] in MODES
    main(sys.argv[1], sys.argv[2])
