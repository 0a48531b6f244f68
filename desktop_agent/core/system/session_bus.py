"""The session bus of a Linux desktop, and choosing files with the desktop's own dialog through its portal.

The portal: https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.FileChooser.html.
"""

# jeepney has no complete types; what it hands over is checked here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

import asyncio
import os
import re
import secrets
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Final, Literal
from urllib.parse import unquote_to_bytes, urlsplit

from jeepney import DBusAddress, HeaderFields, MatchRule, Message, MessageType, new_method_call
from jeepney.auth import BEGIN, Authenticator
from jeepney.bus import get_bus
from jeepney.bus_messages import message_bus
from jeepney.io.asyncio import DBusConnection, DBusRouter
from msgspec import Struct

PORTAL: Final = "org.freedesktop.portal.Desktop"
PORTAL_PATH: Final = "/org/freedesktop/portal/desktop"
_CHOOSER: Final = "org.freedesktop.portal.FileChooser"
_REQUEST: Final = "org.freedesktop.portal.Request"
_FOLDERS_SINCE: Final = 3
"""The version of the portal since which it can ask for folders."""


async def connect(
    stack: AsyncExitStack, heard: MatchRule, wanted: MatchRule, signals: asyncio.Queue[Message]
) -> DBusRouter:
    """Connect to the session bus until `stack` closes. Ask for `wanted` signals; those like `heard` go to `signals`."""
    if sys.platform == "win32":
        raise OSError("Windows has no session bus.")
    reader, writer = await asyncio.open_unix_connection(get_bus("SESSION"))
    connection = DBusConnection(reader, writer)  # jeepney's own way leaves it open when it is cancelled on the way
    stack.push_async_callback(connection.close)
    handshake = Authenticator()
    for line in handshake:
        writer.write(line)
        if not (reply := await reader.read(1024)):
            raise EOFError
        handshake.feed(reply)
    writer.write(BEGIN)
    router = await stack.enter_async_context(DBusRouter(connection))
    stack.enter_context(router.filter(heard, queue=signals))
    await router.send_and_get_reply(message_bus.Hello())
    await router.send_and_get_reply(message_bus.AddMatch(wanted))
    return router


async def call(
    router: DBusRouter, address: DBusAddress, method: str, signature: str | None, body: tuple[object, ...]
) -> Message:
    """Call a method and return the reply. Raises `ConnectionError` if the reply is an error."""
    reply = await router.send_and_get_reply(new_method_call(address, method, signature, body))
    if reply.header.message_type is not MessageType.method_return:
        raise ConnectionError(method)
    return reply


class FileQuestion(Struct, frozen=True, kw_only=True):
    """What the user is to choose."""

    kind: Literal["folder", "file", "files", "save"]
    title: str
    folder: str = ""
    """The absolute path of the folder that is shown first; empty for any."""
    name: str = ""
    filters: tuple[str, ...] = ()
    """Kinds of files, in words with their patterns: `Web page (*.html)`."""


class ChosenFiles(Struct, frozen=True):
    """What the user chose: absolute paths, none if they cancelled, and one of the question's filters."""

    paths: tuple[str, ...] = ()
    filter: str = ""


async def ask_portal(question: FileQuestion, window: str, *, patience_s: float) -> ChosenFiles:
    """Ask with the desktop's dialog and wait for the answer; when cancelled, the dialog closes.

    `window` names the window it belongs to, as `x11:` and the number in hex; empty if unknown. Raises an `OSError`, a
    `KeyError` or the like if no portal answers within `patience_s` seconds or it cannot ask this.
    """
    signals: asyncio.Queue[Message] = asyncio.Queue()
    heard = MatchRule(type="signal", interface=_REQUEST, member="Response")
    wanted = MatchRule(type="signal", sender=PORTAL, interface=_REQUEST, member="Response")
    async with AsyncExitStack() as bus:
        async with asyncio.timeout(patience_s):
            router = await connect(bus, heard, wanted, signals)
            properties = DBusAddress(PORTAL_PATH, bus_name=PORTAL, interface="org.freedesktop.DBus.Properties")
            (_type, version), *_ = (await call(router, properties, "Get", "ss", (_CHOOSER, "version"))).body
            if question.kind == "folder" and version < _FOLDERS_SINCE:
                raise ConnectionError("folders")
            address = DBusAddress(PORTAL_PATH, bus_name=PORTAL, interface=_CHOOSER)
            method = "SaveFile" if question.kind == "save" else "OpenFile"
            reply = await call(router, address, method, "ssa{sv}", (window, question.title, _options(question)))
        while True:
            signal = await signals.get()
            is_ours = signal.header.fields.get(HeaderFields.path) == reply.body[0]
            if is_ours and signal.header.fields.get(HeaderFields.sender) == reply.header.fields[HeaderFields.sender]:
                return _chosen(question, *signal.body)


def _options(question: FileQuestion) -> dict[str, tuple[str, object]]:
    options: dict[str, tuple[str, object]] = {
        "handle_token": ("s", f"desktop_agent_{secrets.token_hex(8)}"),
        "modal": ("b", True),
        "multiple": ("b", question.kind == "files"),
        "directory": ("b", question.kind == "folder"),
    }
    if question.folder:
        options["current_folder"] = ("ay", os.fsencode(question.folder) + b"\0")
    if question.name:
        options["current_name"] = ("s", question.name)
    if question.filters:
        options["filters"] = ("a(sa(us))", [_filter(words) for words in question.filters])
    return options


def _filter(words: str) -> tuple[str, list[tuple[int, str]]]:
    patterns = re.search(r"\(([^()]*)\)$", words)
    return words, [(0, pattern) for pattern in (patterns[1] if patterns else "*").split()]


def _chosen(question: FileQuestion, response: int, results: dict[str, tuple[str, object]]) -> ChosenFiles:
    uris, chosen = results.get("uris", ("as", []))[1], results.get("current_filter", ("", ("",)))[1]
    if response != 0 or not isinstance(uris, Sequence) or not isinstance(chosen, Sequence):
        return ChosenFiles()
    parts = [urlsplit(str(uri)) for uri in uris]
    paths = tuple(os.fsdecode(unquote_to_bytes(part.path)) for part in parts if part.scheme == "file")
    return ChosenFiles(
        paths, next((words for words in question.filters if words in chosen), "".join(question.filters[:1]))
    )
