"""The idle window with the demo open: processor time, wake-ups and memory.

Measured in a process of its own, again after a session of 50,000 records (22,000 by default) was opened and left. A
wake-up is a voluntary context switch. The yardstick is a bare `QMainWindow` on the same loop of Qt.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import Struct

from desktop_agent.core.base.paths import AppPaths
from tests.benchmarks.big_sessions import LARGER, SMALLER, write_session
from tests.journals import SESSION_ID

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the figures are those that Linux keeps")

MOST_OF_A_CORE = 0.003
MOST_WAKE_UPS = 5.0
MOST_MEGABYTES = 180.0

MEASURE = """
import json, os, time
from pathlib import Path

def counted():
    switches = 0
    for task in Path("/proc/self/task").iterdir():
        status = (task / "status").read_text()
        switches += int(status.partition("\\nvoluntary_ctxt_switches:")[2].split()[0])
    return time.monotonic(), sum(os.times()[:2]), switches

def told(what, before, after):
    seconds = after[0] - before[0]
    resident = int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) * 1024 / 1e6
    print(json.dumps({"what": what, "core": (after[1] - before[1]) / seconds,
                      "wake_ups": (after[2] - before[2]) / seconds, "megabytes": resident}), flush=True)
"""

BARE = f"""
import sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMainWindow
{MEASURE}
app = QApplication(sys.argv)
window = QMainWindow()
window.resize(1440, 900)
window.show()
def begin():
    before = counted()
    def end():
        told("bare", before, counted())
        app.quit()
    QTimer.singleShot(float(sys.argv[1]) * 1000, end)
QTimer.singleShot(1000, begin)
app.exec()
"""

OURS = f"""
import asyncio, sys
from pathlib import Path
from PySide6.QtWidgets import QApplication
from tests.e2e.driver import drive
{MEASURE}
seconds, session, workspace, settling = float(sys.argv[1]), sys.argv[2], sys.argv[3], float(sys.argv[4])
app = QApplication(["desktop-agent", "-style", "fusion"])

async def measure(what, settling):
    await asyncio.sleep(settling)  # what is done once after a start or a change of the session is over by then
    before = counted()
    await asyncio.sleep(seconds)
    told(what, before, counted())

async def journey(user):
    await user.see_ready()
    demo = user.transcript.session.session_id
    await measure("demo", settling)
    if session:
        chosen = user.window.panels.sessions.session_chosen
        chosen.emit(session)
        view = user.window.panels.transcript
        async with asyncio.timeout(300):
            while len(user.transcript.pages) < 2:  # until the whole session is known
                await asyncio.sleep(1)
        bar = view.verticalScrollBar()
        for place in (0.1, 0.5, 0.9):
            bar.setValue(int(bar.maximum() * place))
            await asyncio.sleep(1)
        user.window.panels.sessions.new_requested.emit()
        await user.until_true(lambda: user.transcript.session.session_id != session, "another session is shown")
        await measure("after a long session", 15)
    await user.quit()

drive(["--demo"], Path(workspace) / "album", journey)
"""


class Rest(Struct):
    what: str
    core: float
    """Share of one processor."""
    wake_ups: float
    """Per second."""
    megabytes: float
    """Resident memory at the end."""

    def __str__(self) -> str:
        return (
            f"{self.what:22} {self.core:.2%} of a core | {self.wake_ups:.1f} wake-ups a second"
            f" | {self.megabytes:.0f} MB resident"
        )


def run(program: str, *arguments: str) -> list[Rest]:
    found = subprocess.check_output([sys.executable, "-c", program, *arguments], text=True, timeout=600)
    return [Rest(**json.loads(line)) for line in found.splitlines()]


def test_a_window_that_is_left_alone_takes_next_to_nothing(
    tmp_path: Path, is_nightly: bool, window_home: AppPaths
) -> None:
    write_session(window_home, LARGER if is_nightly else SMALLER, tmp_path / "workspace")
    seconds = "60" if is_nightly else "30"
    settling = "90" if is_nightly else "15"  # the longer one has stored contents tidied up, which begins after a minute
    found = [*run(BARE, seconds), *run(OURS, seconds, SESSION_ID, str(tmp_path), settling)]
    for rest in found:
        print(rest)
    for rest in found[1:]:
        assert rest.core <= MOST_OF_A_CORE, rest.what
        assert rest.wake_ups <= MOST_WAKE_UPS, rest.what
        assert rest.megabytes <= MOST_MEGABYTES, rest.what
