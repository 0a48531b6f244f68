import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager

import pytest


@contextmanager
def session_bus() -> Generator[str]:
    daemon = shutil.which("dbus-daemon")
    if daemon is None:
        pytest.skip("dbus-daemon is not installed")
    argv = [daemon, "--session", "--nofork", "--print-address=1"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        try:
            yield address
        finally:
            process.kill()
