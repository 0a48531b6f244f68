"""The memory that a window keeps for long sessions that were opened and left.

20 sessions of 50,000 records (4 of 22,000 by default) in one window, in a process of its own. All together may add
20 MB to the resident memory after the first was closed.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from desktop_agent.core.base.paths import AppPaths
from tests.benchmarks.big_sessions import Shape, write_session
from tests.journals import SESSION_ID

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read as Linux keeps it")

MOST_KEPT_MB = 20.0

WINDOW = """
import asyncio, json, sys
from pathlib import Path
from PySide6.QtWidgets import QApplication
from tests.e2e.driver import drive

sessions, folder, settling = sys.argv[1].split(","), Path(sys.argv[2]), float(sys.argv[3])
app = QApplication(["desktop-agent", "-style", "fusion"])

def resident():
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) * 1024 / 1e6

async def journey(user):
    await user.see_ready()
    panels = user.window.panels
    print(json.dumps(["before", resident()]), flush=True)
    for session in sessions:
        panels.sessions.session_chosen.emit(session)
        async with asyncio.timeout(300):
            while user.transcript.session.session_id != session or len(user.transcript.pages) < 2:
                await asyncio.sleep(0.1)
        bar = panels.transcript.verticalScrollBar()
        for place in (0.1, 0.5, 0.9):
            bar.setValue(int(bar.maximum() * place))
            await asyncio.sleep(0.5)
        open_mb = resident()
        panels.sessions.new_requested.emit()
        await user.until_true(lambda: user.transcript.session.session_id != session, "another session is shown")
        await asyncio.sleep(settling)
        print(json.dumps([session, open_mb, resident()]), flush=True)
    await user.quit()

drive(["--demo"], folder / "album", journey)
"""


def copies_of(journal: Path, count: int) -> list[str]:
    first, _, rest = journal.read_text("utf-8").partition("\n")
    found: list[str] = []
    for number in range(count):
        name = f"20261122-1000{number:02}-abcdef"
        path = journal.parent.parent / name / journal.name
        path.parent.mkdir(exist_ok=True)
        path.write_text(first.replace(SESSION_ID, name) + "\n" + rest, "utf-8")
        found.append(name)
    return found


def test_closed_sessions_leave_no_more_than_the_first_of_them(
    tmp_path: Path, is_nightly: bool, window_home: AppPaths
) -> None:
    shape = Shape(50_000, 1_000) if is_nightly else Shape(22_000, 1_000)
    journal = write_session(window_home, shape, tmp_path / "workspace")
    names = copies_of(journal, 20 if is_nightly else 4)
    arguments = ",".join(names), str(tmp_path), "8"
    said = subprocess.check_output([sys.executable, "-c", WINDOW, *arguments], text=True, timeout=3_600)
    (_, before), *closed = [json.loads(line) for line in said.splitlines()]
    first = closed[0][2]
    print(f"{journal.stat().st_size / 1e6:.0f} MB each | before {before:.0f} MB")
    for number, (_, while_open, after) in enumerate(closed, start=1):
        print(f"session {number:2}: open {while_open:.0f} MB | closed {after:.0f} MB, {after - first:+.1f}")
    assert max(after for *_, after in closed) - first <= MOST_KEPT_MB
