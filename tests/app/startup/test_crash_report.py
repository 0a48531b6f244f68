"""A window that ended unexpectedly leaves a report without secrets and contents, and every other end leaves none."""

import asyncio
import json
import os
import re
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QTextBrowser, QWidget

from desktop_agent.app.startup.crash_report import REPORT, CrashWatch, take_report
from desktop_agent.cli import main
from desktop_agent.core.base.package import __version__
from desktop_agent.core.base.paths import AppPaths
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.servers import fault
from tests.servers.script import reply, text
from tests.servers.threaded import serve

PATIENCE_S = 90
KEY = "sk-ant-test-000000000000"
PROMPT = "the customer is called Ebenezer"
HOME = Path(__file__).parents[4]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals do not end a process there")

ENDED = f"""
import asyncio, faulthandler, logging, os, signal, sys
from pathlib import Path
from types import SimpleNamespace
from tests.e2e.driver import Driver
import desktop_agent.app.startup.window as started
async def serve(window):
    ready = asyncio.Event()
    window.ready.connect(ready.set)
    serving = asyncio.create_task(whole(window))
    await ready.wait()
    secret = prompt = {PROMPT!r}
    logging.getLogger("desktop_agent.test").error("asked with %s", {KEY!r}, exc_info=ValueError(prompt))
    logging.getLogger("mcp.client").warning(prompt)
    await END(window, prompt)
    return await serving
whole, started.Window.serve = started.Window.serve, serve
"""


async def run_window(end: str, *arguments: str | Path) -> int:
    """Run the window in a process of its own, carry out `end` when it is ready, and return the exit code."""
    program = f"{ENDED}\nasync def END(window, prompt):\n    {end}\nsys.exit(started.main(sys.argv[1:]))"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program, *map(str, arguments)),
        env={**os.environ, "HOME": str(HOME), "ANTHROPIC_API_KEY": KEY},
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        return await asyncio.wait_for(process.wait(), PATIENCE_S)
    finally:
        with suppress(ProcessLookupError):
            process.kill()


def reported(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("HOME", str(HOME))
    found = take_report(AppPaths.from_environment().logs, os.environ)
    return found[1] if found else ""


@pytest.mark.parametrize(
    ("end", "code", "told"),
    [
        ("faulthandler._sigsegv()", -signal.SIGSEGV, "Fatal Python error: Segmentation fault"),
        ("os.abort()", -signal.SIGABRT, "Fatal Python error: Aborted"),
        ("int(prompt)", 1, "builtins.ValueError"),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, "It was killed, and left no stack."),
    ],
)
async def test_an_unexpected_end_leaves_a_report_without_secrets_and_contents(
    project: Path, end: str, code: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await run_window(end, project, "--provider", "demo") == code
    found = reported(monkeypatch)
    assert told in found
    assert f"Desktop Agent {__version__}\nPython {sys.version.split()[0]}, PySide6 " in found
    assert "Window system: offscreen" in found
    stack, _, _ = found.partition("Last lines of the log")
    assert re.search(r'File "~/\S+/window.py", line \d+,? in serve', stack) or code == -signal.SIGKILL
    assert "ERROR desktop_agent.test: asked with ***\nValueError\n" in found
    assert " WARNING mcp.client: \n" in found
    assert [each for each in (KEY, PROMPT, "Ebenezer", str(HOME)) if each in found] == []
    assert reported(monkeypatch) == found, "it is kept until the user discards it"


async def test_quitting_leaves_no_report(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await run_window("window.request_quit()", project, "--provider", "demo") == 0
    assert reported(monkeypatch) == ""


LOG_OUT = "window._on_log_out(SimpleNamespace(setRestartHint=id)); window.main_window.close()"
"""What a session manager's announcement and its end of the log-out do."""


@pytest.mark.parametrize(
    "end",
    [
        "os.kill(os.getpid(), signal.SIGTERM)",
        pytest.param("os.kill(os.getpid(), signal.SIGHUP)", marks=pytest.mark.nightly),
        LOG_OUT,
    ],
)
async def test_a_log_out_stops_the_turn_without_a_question_and_keeps_the_draft(
    project: Path, key: str, end: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    del key
    working = """user = Driver(window, Path(os.environ["DESKTOP_AGENT_HOME"]))
    await user.send("Hello")
    await user.until_true(lambda: "Half of" in str(user.transcript.entries), "the answer streams")
    user.composer.set_text("unfinished thought")
    """
    with serve(reply(text("Half of"), fault.stall_after(events=3))) as server:
        assert await run_window(working + end, project, "--base-url", server.url) == 0
    paths = AppPaths.from_environment()
    assert any(b"unfinished thought" in path.read_bytes() for path in (paths.data / "drafts").rglob("*.json"))
    (journal,) = paths.sessions.glob("*/journal.jsonl")
    types = [json.loads(line)["type"] for line in journal.read_bytes().splitlines()]
    assert types.count("turn_ended") == 1
    assert main(["sessions", "verify", "--json"]) == 0
    capsys.readouterr()
    assert reported(monkeypatch) == ""
    assert list(paths.logs.glob("running-*")) == []


def test_a_window_that_still_runs_and_a_login_that_ended_leave_no_report(tmp_path: Path) -> None:
    with CrashWatch(tmp_path, {}) as watch:
        watch.note_shown()
        assert take_report(tmp_path, {}) is None
        (running,) = tmp_path.glob("running-*")
        (tmp_path / "running-1-1.txt").write_bytes(running.read_bytes())
        assert take_report(tmp_path, {"XDG_SESSION_ID": "another"}) is None
        (tmp_path / "running-1-1.txt").write_bytes(running.read_bytes()[:40])  # before it was shown
        (tmp_path / "running-1-2.txt").write_bytes(b"")
        assert take_report(tmp_path, {}) is None
        assert list(tmp_path.iterdir()) == [running]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("qapp")
def test_the_next_start_offers_the_report_until_it_is_discarded(
    go: Go, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = AppPaths.from_environment().logs
    logs.mkdir(parents=True)
    (logs / "running-1-1.txt").write_text("\nDesktop Agent 0\nFatal Python error: Aborted\n", encoding="utf-8")
    opened: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)

    async def ignored(user: Driver) -> None:
        await user.see(QWidget, "crashBar")

    async def discarded(user: Driver) -> None:
        await user.click("showCrashButton")
        window = await user.see(QTextBrowser, "newsText")
        assert "Fatal Python error: Aborted" in window.toPlainText()
        window.window().close()
        await user.click("copyCrashButton")
        assert QGuiApplication.clipboard().text() == (logs / REPORT).read_text("utf-8")
        await user.click("crashFolderButton")
        assert opened == [QUrl.fromLocalFile(str(logs))]
        await user.click("discardCrashButton")
        assert not (logs / REPORT).exists()
        assert user.find(QWidget, "crashBar") is None

    async def nothing(user: Driver) -> None:
        assert user.find(QWidget, "crashBar") is None

    for journey in (ignored, discarded, nothing):
        go([str(project), "--provider", "demo"], journey)
