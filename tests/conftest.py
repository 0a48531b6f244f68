"""For every test: an isolated home, no network but loopback, no leaks, no unexpected warning or log."""

import asyncio
import gc
import inspect
import logging
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import ExitStack
from functools import cache
from itertools import count
from pathlib import Path
from types import FrameType
from typing import cast
from zlib import crc32

import psutil
import pytest
from hypothesis import HealthCheck, settings
from pytestqt.qtbot import QtBot

from tests.full_disk import FullDisk
from tests.hang_guard import HangGuard
from tests.screens import offscreen
from tests.shared_rewriting import rewrite_share
from tests.system_processes import SHARED, descendants
from tests.warm_sdk import warm_sdk
from tests.young_heap import YoungHeap

# Before anything imports Qt: tests never open a window on the developer's screen unless the real-window run says so.
if os.environ.get("QT_QPA_PLATFORM", "offscreen") == "offscreen":
    os.environ["QT_QPA_PLATFORM"] = offscreen("1920x1080")
os.environ["QT_API"] = "pyside6"
os.environ["LANGUAGE"] = "C"  # tests read what the window says

settings.register_profile("default", deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("nightly", parent=settings.get_profile("default"), max_examples=2000)


QT_PATIENCE_MS = 30_000
"""How long `qtbot` waits, instead of 5 seconds; only failing tests wait that long."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--profile", choices=("default", "nightly"), default="default", help="how long to try")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile(str(config.getoption("--profile")))
    _heed(signal.SIGINT, signal.default_int_handler)
    if sys.platform != "win32":
        _heed(signal.SIGHUP, lambda _number, _frame: None)
    if not config.getini("faulthandler_timeout"):  # benchmarks have pytest's own
        config.pluginmanager.register(HangGuard())
    for wait in (QtBot.waitUntil, QtBot.waitSignal, QtBot.waitSignals, QtBot.waitExposed, QtBot.waitActive):
        assert wait.__kwdefaults__ is not None  # the library has no option for it
        wait.__kwdefaults__["timeout"] = QT_PATIENCE_MS


def _heed(number: signal.Signals, handler: Callable[[int, FrameType | None], object]) -> None:
    """Ignore a signal no longer, as a script in the background or `nohup` does, or programs of tests would, too."""
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without the garbage collector: collected tests stay alive, so scanning them is wasted time."""
    gc.disable()
    try:
        rewrite_share(session.config)
        return (yield)
    finally:
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip files without a real-window test in a real-window run: importing them takes longer than the run."""
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    if is_test and config.getoption("markexpr") == "realwindow":
        return b"pytest.mark.realwindow" not in collection_path.read_bytes() or None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave long runs and most sampled cases to the nightly profile: deselected, not skipped."""
    if config.getoption("--profile") == "nightly":
        return
    sample = _Sample()
    left_out = [item for item in items if item.get_closest_marker("nightly") or not sample.has(item)]
    if left_out:
        gone = set(left_out)
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in gone]


class _Sample:
    """The cases of `sampled` tests that are always run, the same in each run."""

    def __init__(self) -> None:
        self._values: defaultdict[tuple[str, str], list[object]] = defaultdict(list)

    def has(self, item: pytest.Item) -> bool:
        marker = item.get_closest_marker("sampled")
        if marker is None:
            return True
        every, *names = cast("tuple[int, *tuple[str, ...]]", marker.args)
        number = sum([self._index_of(item, name) for name in names]) if names else crc32(item.name.encode())
        return number % every == 0

    def _index_of(self, item: pytest.Item, name: str) -> int:
        """The place of a parameter's value among those of its test. pytest's own indices count cases instead."""
        assert isinstance(item, pytest.Function)
        values, value = self._values[item.nodeid.partition("[")[0], name], item.callspec.params[name]
        if value not in values:
            values.append(value)
        return values.index(value)


def pytest_sessionfinish() -> None:
    """Empty the clipboard: offscreen, Qt would free copied data after Python's end, and crash.

    What the run leaves is garbage of no test, and pytest's last collections of it would take a second in each worker.
    """
    gc.freeze()
    if "PySide6.QtWidgets" in sys.modules:
        from PySide6.QtWidgets import QApplication

        if QApplication.instance() is not None:
            QApplication.clipboard().clear()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    """Destroy the widgets that a test dropped: Qt keeps and restyles them until an event loop runs."""
    result = yield
    if "PySide6.QtWidgets" in sys.modules:
        from PySide6.QtCore import QCoreApplication, QEvent

        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    return result


@pytest.fixture(scope="session")
def is_nightly(request: pytest.FixtureRequest) -> bool:
    return request.config.getoption("--profile") == "nightly"


@pytest.fixture(autouse=True, scope="session")
def unsynced(*, is_nightly: bool) -> Generator[None]:
    """Skip syncs to disk: no test cuts the power. `--profile nightly` and benchmarks do sync."""
    with pytest.MonkeyPatch.context() as patch:
        if not is_nightly:
            patch.setattr(os, "fsync", os.fstat)  # which wants an open file, too
        yield


@pytest.fixture(autouse=True, scope="session")
def forked_sdk() -> Generator[None]:
    """Start the process for Anthropic's SDK quickly, unless a test has taken one of its libraries away."""
    from desktop_agent.core.system.processes import worker_process

    usual, command = worker_process.module_command, list[str]()

    def forking(module: str, *arguments: str) -> list[str]:
        if not module.endswith(".sdk_worker") or "PYTHONPATH" in os.environ:
            return usual(module, *arguments)
        if not command:
            process, forking = stack.enter_context(warm_sdk())
            SHARED.add(process)
            command.extend(forking)
        return command

    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        if sys.platform == "linux":
            patch.setattr(worker_process, "module_command", forking)
        yield


@pytest.fixture(autouse=True, scope="session")
def certificates_read_once() -> Generator[None]:
    """Share what HTTP clients read of the same certificates: each of a thousand would take 27 ms for it."""
    import httpx2

    create = httpx2.create_ssl_context

    @cache
    def context(_file: str | None, _folder: str | None) -> ssl.SSLContext:
        return create()

    def shared() -> ssl.SSLContext:
        return context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpx2, "create_ssl_context", shared)
        yield


@pytest.fixture
def patient_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give local model servers longer to answer than the 2 s that a user waits: the machine may be busy."""
    from desktop_agent.core.providers.local import look_at, look_for_servers

    for look in (look_at, look_for_servers):
        assert look.__kwdefaults__ is not None
        monkeypatch.setitem(look.__kwdefaults__, "limit_s", 30.0)


_HOMES = count()


@pytest.fixture(autouse=True)
def isolated_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test a home of its own without the user's keys, settings and keyring."""
    home = tmp_path_factory.getbasetemp() / f"home-{next(_HOMES)}"  # `mktemp` takes three times as long
    home.mkdir(mode=0o700)
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "OPENAI_", "OPENROUTER_", "XAI_", "DESKTOP_AGENT_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("DESKTOP_AGENT_HOME", str(home / "desktop-agent"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    monkeypatch.setenv("ENCHANT_CONFIG_DIR", str(home / "enchant"))  # whose library asks for the home only once
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={home / 'no bus'}")  # no notification on a real desktop
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return home


@pytest.fixture
def full_disk(isolated_home: Path) -> Generator[FullDisk]:
    data = isolated_home / "desktop-agent" / "data"
    data.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.check_call(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(data)], stderr=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a small disk needs root and Linux")
    yield FullDisk(data)
    subprocess.check_call(["umount", "--lazy", str(data)])


@pytest.fixture(autouse=True, scope="session")
def loopback_only() -> Generator[None]:
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def check(address: object) -> None:
        host = cast("tuple[object, ...]", address)[0] if isinstance(address, tuple) else None
        if isinstance(host, str) and host not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a test tried to reach {host}")

    def guarded_connect(self: socket.socket, address: object) -> None:
        check(address)
        connect(self, address)  # pyright: ignore[reportArgumentType] - passed on as it came

    def guarded_connect_ex(self: socket.socket, address: object) -> int:
        check(address)
        return connect_ex(self, address)  # pyright: ignore[reportArgumentType] - passed on as it came

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        yield


class _Unexpected(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name != "desktop_agent.ui.runtime.watchdog":  # on a busy machine every window stands still at times
            self.records.append(record)


@pytest.fixture
def expected_logs() -> list[str]:
    return []


@pytest.fixture(autouse=True)
def no_unexpected_logs(expected_logs: list[str]) -> Generator[None]:
    handler = _Unexpected()
    root = logging.getLogger("desktop_agent")
    root.addHandler(handler)
    yield
    root.removeHandler(handler)
    messages = [record.getMessage() for record in handler.records]
    surprising = [text for text in messages if not any(expected in text for expected in expected_logs)]
    assert not surprising, f"unexpected logs: {surprising}"


_ENDING_S = 30.0
"""How long a finished thread may take to end on a busy machine."""


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest) -> Generator[None]:
    threads = set(threading.enumerate())
    children = descendants()
    yield
    leaks = [f"thread {thread.name}" for thread in set(threading.enumerate()) - threads if _stays(thread)]
    leaks += [f"process {_describe(child)}" for child in descendants() - children]
    leaks += _running_qt_timers() if "qtbot" in request.fixturenames else []
    assert not leaks, f"left behind: {', '.join(leaks)}"


@pytest.fixture(autouse=True, scope="module")
def young_heap() -> YoungHeap:
    return YoungHeap()


@pytest.fixture(autouse=True)
def no_lost_tasks(
    request: pytest.FixtureRequest, young_heap: YoungHeap, monkeypatch: pytest.MonkeyPatch
) -> Generator[None]:
    """Fail a test that loses an exception in a task or future that was never awaited.

    The exception shows when the task is collected. Tests without a loop and widgets skip the collection.
    """
    young_heap.begin()
    lost: list[str] = []
    loops = 0
    init = asyncio.BaseEventLoop.__init__

    def collect(self: asyncio.BaseEventLoop, context: dict[str, object]) -> None:
        lost.append(f"{context.get('message')}: {context.get('exception')!r}")

    def count(self: asyncio.BaseEventLoop) -> None:
        nonlocal loops
        loops += 1
        init(self)

    monkeypatch.setattr(asyncio.BaseEventLoop, "call_exception_handler", collect)
    monkeypatch.setattr(asyncio.BaseEventLoop, "__init__", count)
    yield
    if loops or inspect.iscoroutinefunction(request.function) or "qapp" in request.fixturenames:
        young_heap.collect()
    assert not lost, f"lost exceptions: {lost}"


def _stays(thread: threading.Thread) -> bool:
    """Whether it is our thread and goes on. A finished thread may need a moment to end."""
    if not _is_ours(thread):
        return False
    thread.join(timeout=_ENDING_S)
    return thread.is_alive()


def _is_ours(thread: threading.Thread) -> bool:
    """Whether a test must end the thread. Executors keep their threads until their loop closes."""
    if thread.name.startswith("waitpid-"):
        thread.join(timeout=_ENDING_S)  # asyncio's child watcher on Python 3.11: it ends with the child, a moment later
    return thread.is_alive() and not thread.name.startswith(("asyncio_", "ThreadPoolExecutor"))


def _describe(process: psutil.Process) -> str:
    try:
        return f"{process.pid} {' '.join(process.cmdline())[:80]}"
    except psutil.Error:
        return str(process.pid)


def _running_qt_timers() -> list[str]:
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    widgets = QApplication.allWidgets()
    timers = [timer for widget in widgets for timer in widget.findChildren(QTimer) if timer.isActive()]
    return [f"timer {timer.objectName() or timer.parent()}" for timer in set(timers)]
