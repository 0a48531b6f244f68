"""Keys are removed from the environment before any process starts, and no session bus is started."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from desktop_agent.core.system.processes.worker_process import WorkerProcess
from tests.command_line import PROGRAM
from tests.system_processes import running_with

KEY = "sk-ant-test-0123456789abcdef"
SECRETS = {
    "ANTHROPIC_API_KEY": KEY, "ANTHROPIC_AUTH_TOKEN": KEY, "ANTHROPIC_CUSTOM_HEADERS": f"X-Key: {KEY}",
    "OPENAI_API_KEY": KEY, "OPENROUTER_API_KEY": KEY, "XAI_API_KEY": KEY, "GH_TOKEN": KEY, "PLAIN_NAME": KEY,
}  # fmt: skip
PATIENCE_S = 60

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="environments are read from /proc")


@contextmanager
def started(*arguments: str, **environ: str) -> "Generator[subprocess.Popen[str]]":
    argv = [*PROGRAM, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        argv, env={**os.environ, **SECRETS, **environ}, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("dbus-launch", "dbus-daemon", "git", "rg", "bwrap"):
        program = folder / name
        program.write_text(f'#!/bin/sh\n{{ echo "started {name}"; cat /proc/$$/environ; }} >>"{tmp_path}/told" 2>&1\n')
        program.chmod(0o755)
    (tmp_path / "told").touch()
    return folder


def told(folder: Path) -> str:
    return (folder.parent / "told").read_text()


def test_the_kernel_does_not_show_the_keys_any_more() -> None:
    with started("auth", "set", "anthropic") as process:
        shown = Path(f"/proc/{process.pid}/environ")
        deadline = time.monotonic() + PATIENCE_S
        while KEY in (text := shown.read_text()) or "desktop_agent" not in Path(
            f"/proc/{process.pid}/cmdline"
        ).read_text().replace("-", "_"):
            assert time.monotonic() < deadline, text
        assert "HOME=" in shown.read_text()


def test_the_key_is_used_all_the_same() -> None:
    with started("auth", "status") as process:
        out, _ = process.communicate(timeout=PATIENCE_S)
    assert "from ANTHROPIC_API_KEY" in out
    assert KEY not in out


def test_doctor_hands_no_key_to_what_it_tries(recorded: Path) -> None:
    with started("doctor", PATH=f"{recorded}:{os.defpath}") as process:
        process.communicate(timeout=PATIENCE_S)
    assert "started git" in told(recorded)
    assert KEY not in told(recorded)


def test_a_worker_of_the_library_gets_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    worker = WorkerProcess("desktop_agent.core.diff.comparison_process")
    try:
        while not (environ := psutil.Process(worker.pid).environ()):
            pass  # the kernel shows it a moment after the start
    finally:
        worker.end()
    assert KEY not in "".join(environ.values())
    assert environ["HOME"] == os.environ["HOME"]
    assert os.environ["ANTHROPIC_API_KEY"] == KEY  # the caller's own environment stays as it is


@pytest.mark.realwindow
def test_the_window_starts_no_session_bus(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    environ = {"PATH": f"{recorded}:{os.defpath}", "QT_ACCESSIBILITY": "1", "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1"}
    environ["QT_LOGGING_RULES"] = "*.debug=false"
    log = Path(os.environ["DESKTOP_AGENT_HOME"]) / "config" / "window.ini"
    with started("--demo", **environ) as process:
        children = psutil.Process(process.pid)
        deadline = time.monotonic() + PATIENCE_S
        while not (Path(os.environ["DESKTOP_AGENT_HOME"]) / "data").exists():  # the demo's folder is made
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
        bus = running_with("dbus-", children.children(recursive=True))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
    assert not log.is_symlink()
    assert "dbus" not in told(recorded)
    assert KEY not in told(recorded)
    assert bus == []


def test_doctor_still_names_what_it_keeps_from_commands() -> None:
    with started("doctor") as process:
        out, _ = process.communicate(timeout=PATIENCE_S)
    assert "GH_TOKEN" in out
    assert KEY not in out


def test_a_variable_that_the_user_passes_on_still_reaches_a_single_call(isolated_home: Path) -> None:
    file = isolated_home / "desktop-agent" / "config" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[execution]\npassed_variables = ["GH_TOKEN"]\n')
    call = '{"command": "test \\"$GH_TOKEN\\" = passed && echo reached"}'
    with started("tools", "call", "run_terminal_cmd", call, "--approval", "never", GH_TOKEN="passed") as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    assert "reached" in out, err
