"""A real session bus, with a Secret Service that behaves as a test wants."""

# jeepney has no complete types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false

import gc
import os
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path

import pytest
from jeepney import MatchRule
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

from tests.attacks.keyrings.service import NAME, Mode
from tests.command_line import PROGRAM
from tests.session_bus import session_bus

_OWNED = MatchRule(
    type="signal", sender=message_bus.bus_name, interface=message_bus.interface, member="NameOwnerChanged"
)
_OWNED.add_arg_condition(0, NAME)

Bus = dict[str, str]


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[Bus]:
    monkeypatch.delenv("PYTHON_KEYRING_BACKEND")
    monkeypatch.setattr("keyring.core._keyring_backend", None)  # an earlier test may have chosen one
    with session_bus() as address:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
        yield {**os.environ}
    # The bus is gone, so what waited for an answer ends. The keyring library leaves its connection open then.
    for thread in threading.enumerate():
        if thread.name in ("key", "keyring"):
            thread.join(GUARD_S)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def secret_service(bus: Bus) -> Generator[Callable[[Mode], None]]:
    with ExitStack() as started:

        def start(mode: Mode) -> None:
            argv = [sys.executable, "-m", "tests.attacks.keyrings.service", mode]
            service = started.enter_context(subprocess.Popen(argv, env=bus, stdout=subprocess.PIPE, text=True))
            started.callback(service.kill)
            assert service.stdout is not None
            assert service.stdout.readline() == "ready\n"

        yield start


@pytest.fixture
def gnome_keyring(bus: Bus, tmp_path: Path) -> Generator[None]:
    daemon = shutil.which("gnome-keyring-daemon")
    if daemon is None:
        pytest.skip("gnome-keyring is not installed")
    argv = [daemon, "--unlock", "--foreground", "--components=secrets"]
    with (
        subprocess.Popen(
            argv,
            env={**bus, "XDG_DATA_HOME": str(tmp_path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process,
        open_dbus_connection() as connection,
    ):
        try:
            connection.send(message_bus.AddMatch(_OWNED))
            with connection.filter(_OWNED) as owned:
                assert process.stdin is not None
                process.stdin.write(b"ci")
                process.stdin.close()
                connection.recv_until_filtered(owned, timeout=GUARD_S)
            yield
        finally:
            process.kill()


class Program:
    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    def start(self, *arguments: str | Path) -> "subprocess.Popen[str]":
        argv = [*PROGRAM, *map(str, arguments)]
        return subprocess.Popen(
            argv, env=self._bus, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def __call__(self, *arguments: str | Path, text: str = "") -> "subprocess.CompletedProcess[str]":
        with self.start(*arguments) as process:
            try:
                out, err = process.communicate(text, timeout=GUARD_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return subprocess.CompletedProcess([], process.returncode, out, err)

    def interrupted(self, number: signal.Signals, *arguments: str | Path, text: str) -> int:
        """Run until the program says that it waits, send it a signal, and return its exit code."""
        with self.start(*arguments) as process:
            assert process.stdin is not None
            assert process.stderr is not None
            with process.stdin as typed:
                typed.write(text)
            guard = threading.Timer(GUARD_S, process.kill)  # then there is nothing more to read
            guard.start()
            try:
                while "keyring" not in (line := process.stderr.readline()):
                    assert line, "it ended without saying what it waits for"
                process.send_signal(number)
                return process.wait(GUARD_S)
            finally:
                guard.cancel()
                guard.join()
                process.kill()


GUARD_S = 40
"""Shorter than the wait for unlocking a keyring, longer than everything else on a busy machine."""


@pytest.fixture
def program(bus: Bus) -> Program:
    return Program(bus)
