"""A Secret Service that misbehaves: `python -m tests.attacks.keyrings.service MODE`, on the session bus.

It prints a line when it owns its name.
The interface is that of https://specifications.freedesktop.org/secret-service/.
"""

# jeepney has no complete types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false

import sys
from typing import Literal, cast, get_args

from jeepney import HeaderFields, Message, MessageType, new_error, new_method_return
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

Mode = Literal["silent", "locked", "missing", "erring", "vanishing", "nonsense", "silent_later"]
"""`silent`: never answers. `locked`: asks to be unlocked, and the prompt never ends. `missing`: has no collection, and
the prompt for one never ends. `erring`: answers every call with an error. `vanishing`: ends at the first call.
`nonsense`: answers every call with something else. `silent_later`: is not locked, and then answers no more."""

MODES: tuple[Mode, ...] = get_args(Mode)

NAME = "org.freedesktop.secrets"
COLLECTION = "/org/freedesktop/secrets/aliases/default"
PROMPT = "/org/freedesktop/secrets/prompt/1"


def answer(mode: Mode, call: Message) -> Message | None:
    member = call.header.fields.get(HeaderFields.member)
    match mode, member:
        case "erring", _:
            return new_error(call, "org.freedesktop.DBus.Error.Failed", "s", ("out of order",))
        case "nonsense", _:
            return new_method_return(call, "u", (7,))
        case (("locked" | "silent_later"), "ReadAlias"):
            return new_method_return(call, "o", (COLLECTION,))
        case "missing", "ReadAlias":
            return new_method_return(call, "o", ("/",))
        case (("locked" | "silent_later"), "Get"):
            return new_method_return(call, "v", (("b", mode == "locked"),))
        case "locked", "Unlock":
            return new_method_return(call, "aoo", ([], PROMPT))
        case (("locked" | "missing"), "OpenSession"):
            return new_error(call, "org.freedesktop.DBus.Error.NotSupported", "s", ("plain only",))
        case "missing", "CreateCollection":
            return new_method_return(call, "oo", ("/", PROMPT))
        case (("locked" | "missing"), "Prompt"):
            return new_method_return(call, "", ())
        case _:
            return None


def main(mode: Mode) -> None:
    with open_dbus_connection() as bus:
        bus.send_and_get_reply(message_bus.RequestName(NAME))
        print("ready", flush=True)
        while True:
            call = bus.receive()
            if call.header.message_type is not MessageType.method_call:
                continue
            if mode == "vanishing":
                return
            if (reply := answer(mode, call)) is not None:
                bus.send(reply)


if __name__ == "__main__":
    main(cast("Mode", sys.argv[1]))
