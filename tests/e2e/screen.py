"""A screen of its own for a program, with a mouse and a keyboard that the program cannot tell from a user's.

On Wayland the compositor is sway, without a monitor. Its devices are clients of these protocols:
https://gitlab.freedesktop.org/wlroots/wlr-protocols (virtual pointer),
https://wayland.app/protocols/virtual-keyboard-unstable-v1.
"""

import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

WIDTH, HEIGHT = 1366, 768
_LEFT = 0x110
_NOBODY = 65534
_CONFIG = f"""\
output * resolution {WIDTH}x{HEIGHT} bg #556677 solid_color
default_border none
xwayland disable
exec echo $WAYLAND_DISPLAY $SWAYSOCK
"""
"""The first line that sway prints says where it listens."""
_KEYS = {"Return": 0xFF0D, "End": 0xFF57}


class Screen(ABC):
    """`environment` is what a program needs to open its windows here."""

    environment: dict[str, str]

    @abstractmethod
    def click(self, x: int, y: int) -> None:
        """Click at a point where accessible objects say that they are."""

    @abstractmethod
    def write(self, text: str) -> None: ...

    @abstractmethod
    def press(self, key: str) -> None: ...

    @abstractmethod
    def picture(self, path: Path) -> None: ...


class Xorg(Screen):
    def __init__(self, display: str) -> None:
        self.environment = {"DISPLAY": display, "XDG_SESSION_TYPE": "x11"}

    def click(self, x: int, y: int) -> None:
        self._run("xdotool", "mousemove", str(x), str(y), "click", "1")

    def write(self, text: str) -> None:
        self._run("xdotool", "type", "--delay", "20", text)

    def press(self, key: str) -> None:
        self._run("xdotool", "key", key)

    def picture(self, path: Path) -> None:
        self._run("import", "-window", "root", str(path))

    def _run(self, *argv: str) -> None:
        subprocess.check_call(argv, env=os.environ | self.environment)


class Wayland(Screen):
    def __init__(self, runtime: Path, display: str, commands: str) -> None:
        """`display` and `commands` are sway's sockets."""
        self.environment = {
            "WAYLAND_DISPLAY": display,
            "XDG_RUNTIME_DIR": str(runtime),
            "XDG_SESSION_TYPE": "wayland",
            "QT_QPA_PLATFORM": "wayland",
        }
        self._own = os.environ | self.environment | {"SWAYSOCK": commands}
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(runtime / display))
        self._ids = count(2)
        names = self._names()
        seat = self._bind(names["wl_seat"], "wl_seat")
        pointers = self._bind(names["zwlr_virtual_pointer_manager_v1"], "zwlr_virtual_pointer_manager_v1")
        keyboards = self._bind(names["zwp_virtual_keyboard_manager_v1"], "zwp_virtual_keyboard_manager_v1")
        self._pointer, self._keyboard = next(self._ids), next(self._ids)
        self._send(pointers, 0, struct.pack("=II", seat, self._pointer))
        self._send(keyboards, 0, struct.pack("=II", seat, self._keyboard))
        self._keymap("".join(map(chr, range(32, 127))))

    def close(self) -> None:
        self._socket.close()

    def click(self, x: int, y: int) -> None:
        left, top = self._corner()
        self._send(self._pointer, 1, struct.pack("=5I", _now(), left + x, top + y, WIDTH, HEIGHT))
        self._send(self._pointer, 4)
        for state in (1, 0):
            self._send(self._pointer, 2, struct.pack("=3I", _now(), _LEFT, state))
            self._send(self._pointer, 4)
        self._wait()

    def write(self, text: str) -> None:
        for sign in text:
            self._tap(ord(sign) - 31)

    def press(self, key: str) -> None:
        self._tap(96 + list(_KEYS).index(key))

    def picture(self, path: Path) -> None:
        with path.open("wb") as file:  # by us, who may write there
            subprocess.check_call(["grim", "-"], stdout=file, env=self._own)

    def _tap(self, number: int) -> None:
        for state in (1, 0):
            self._send(self._keyboard, 1, struct.pack("=3I", _now(), number, state))
        self._wait()

    def _keymap(self, signs: str) -> None:
        symbols = [f"U{ord(sign):04X}" for sign in signs] + list(_KEYS)
        codes = " ".join(f"<K{number}> = {number + 8};" for number in range(1, len(symbols) + 1))
        keys = " ".join(f"key <K{number}> {{[{symbol}]}};" for number, symbol in enumerate(symbols, 1))
        text = (
            f"xkb_keymap {{ xkb_keycodes {{ minimum = 8; maximum = 255; {codes} }};"
            ' xkb_types { include "complete" }; xkb_compatibility { include "complete" };'
            f" xkb_symbols {{ {keys} }}; }};\0"
        ).encode()
        with tempfile.TemporaryFile() as file:
            file.write(text)
            file.flush()
            self._send(self._keyboard, 0, struct.pack("=II", 1, len(text)), file.fileno())
        self._wait()

    def _corner(self) -> tuple[int, int]:
        """Return where the focused window begins: Wayland tells no program where its windows are."""
        pending = [json.loads(subprocess.check_output(["swaymsg", "--raw", "-t", "get_tree"], env=self._own))]
        while pending:
            node = pending.pop()
            if node["focused"] and node.get("pid"):
                return node["rect"]["x"] + node["window_rect"]["x"], node["rect"]["y"] + node["window_rect"]["y"]
            pending += [*node["nodes"], *node["floating_nodes"]]
        return 0, 0

    def _names(self) -> dict[str, tuple[int, int]]:
        registry = next(self._ids)
        assert registry == 2
        self._send(1, 1, struct.pack("=I", registry))
        found: dict[str, tuple[int, int]] = {}
        for owner, opcode, body in self._wait():
            if (owner, opcode) == (registry, 0):
                number, length = struct.unpack_from("=II", body)
                [version] = struct.unpack_from("=I", body, len(body) - 4)
                found[body[8 : 8 + length - 1].decode()] = number, version
        return found

    def _bind(self, known: tuple[int, int], interface: str) -> int:
        number, _ = known
        bound = next(self._ids)
        name = interface.encode() + b"\0"
        name += b"\0" * (-len(name) % 4)
        self._send(2, 0, struct.pack("=II", number, len(interface) + 1) + name + struct.pack("=II", 1, bound))
        return bound

    def _send(self, target: int, opcode: int, body: bytes = b"", *descriptors: int) -> None:
        message = struct.pack("=II", target, (8 + len(body)) << 16 | opcode) + body
        socket.send_fds(self._socket, [message], descriptors)

    def _wait(self) -> Sequence[tuple[int, int, bytes]]:
        """Return what the compositor said until it has read everything."""
        done = next(self._ids)
        self._send(1, 0, struct.pack("=I", done))
        told: list[tuple[int, int, bytes]] = []
        while not told or told[-1][0] != done:
            owner, word = struct.unpack("=II", self._read(8))
            told.append((owner, word & 0xFFFF, self._read((word >> 16) - 8)))
            assert told[-1][:2] != (1, 0), told[-1][2]  # an error
        return told

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            assert part, "the compositor has ended"
            data += part
        return data


def _now() -> int:
    return time.monotonic_ns() // 1_000_000 & 0xFFFFFFFF


def has_wayland() -> bool:
    return all(map(shutil.which, ("sway", "swaymsg", "grim")))


@contextmanager
def wayland(user: int = _NOBODY) -> Generator[Wayland]:
    """Run sway. It refuses to run as root: then it runs as `user`."""
    environment = {name: value for name, value in os.environ.items() if name not in {"DISPLAY", "WAYLAND_DISPLAY"}}
    environment |= {"WLR_BACKENDS": "headless", "WLR_LIBINPUT_NO_DEVICES": "1", "WLR_RENDERER": "pixman"}
    with tempfile.TemporaryDirectory(prefix="wayland-") as folder:
        config, log = Path(folder, "config"), Path(folder, "log")
        config.write_text(_CONFIG)
        argv = ["sway", "--config", str(config)]
        if os.geteuid() == 0:
            os.chown(folder, user, user)
            argv = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *argv]
        environment["XDG_RUNTIME_DIR"] = folder
        with (
            log.open("w") as problems,
            subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=problems, text=True) as sway,
        ):
            try:
                assert sway.stdout is not None
                names = sway.stdout.readline().split()
                assert names, log.read_text()
                screen = Wayland(Path(folder), *names)
                yield screen
                screen.close()
            finally:
                sway.terminate()


@contextmanager
def xorg() -> Generator[Xorg]:
    """Run Xvfb with a window manager."""
    read, write = os.pipe()
    argv = ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{WIDTH}x{HEIGHT}x24", "-nolisten", "tcp"]
    with subprocess.Popen(argv, pass_fds=[write], stderr=subprocess.DEVNULL) as server:
        os.close(write)
        try:
            with os.fdopen(read) as told:
                display = f":{told.readline().strip()}"
            manager = subprocess.Popen(["openbox"], env=os.environ | {"DISPLAY": display})
            yield Xorg(display)
            manager.terminate()
            manager.wait()
        finally:
            server.terminate()  # which ends the window manager
