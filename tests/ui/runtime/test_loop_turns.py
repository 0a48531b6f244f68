"""Following the loop does not change its behaviour."""

import subprocess
import sys

import pytest

_SIGNALLED = """
import os, signal, sys, threading
from PySide6.QtCore import QCoreApplication, QTimer
from desktop_agent.ui.runtime.watchdog import follow_loop

def fail():
    try:
        os.stat("/no such file")  # leaves an error number behind
    except OSError:
        pass

app = QCoreApplication([])
signal.signal(signal.SIGUSR1, lambda *_: None)
follow_loop(works=fail, rests=fail)
main = threading.main_thread().ident
threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGUSR1)).start()
QTimer.singleShot(500, app.quit)
sys.exit(app.exec())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only there the loop's wait is replaced")
def test_a_signal_ends_the_wait_without_a_complaint() -> None:
    done = subprocess.run(  # noqa: TID251 - signals are for a process of their own
        [sys.executable, "-c", _SIGNALLED], stderr=subprocess.PIPE, check=True, text=True, timeout=60
    )
    assert "poll(2)" not in done.stderr
