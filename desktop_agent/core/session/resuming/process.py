"""The process that folds long journals: `python -m desktop_agent.core.session.resuming.process JOURNAL BLOBS SNAPSHOT`.

Folding hundreds of megabytes takes seconds in which the interpreter lock is hardly ever free; in a thread of the
window's process every frame would wait for it. The process writes a snapshot and ends.
"""

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.system.child_environment import child_environment
from desktop_agent.core.system.processes.worker_process import NO_WINDOW, ignore_interrupts, module_command

_MODULE: Final = "desktop_agent.core.session.resuming.process"


class SnapshotProcess:
    """The process, seen from the one that waits for its snapshot."""

    def __init__(self, journal: Path, blobs: Path, snapshot: Path) -> None:
        """Start it. Raises `OSError` when there can be no more processes."""
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            module_command(_MODULE, *map(str, (journal, blobs, snapshot))),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=child_environment(os.environ),
            creationflags=NO_WINDOW,
        )

    def wait(self) -> bool:
        """Block until it has ended. Whether there is a snapshot now."""
        return self._process.wait() == 0

    def kill(self) -> None:
        """Let it end at once. A waiting caller learns that there is no snapshot."""
        self._process.kill()


def main(arguments: list[str]) -> int:
    """Write the snapshot; 0 when it is written."""
    from desktop_agent.core.session.resuming.snapshots import renew_snapshot
    from desktop_agent.core.store.blobs import Blobs

    ignore_interrupts()
    if sys.platform != "win32":
        os.nice(5)  # the user reads the end of the conversation meanwhile
    gc.disable()  # what is read leaves no cycles
    journal, blobs, snapshot = map(Path, arguments)
    try:
        renew_snapshot(journal, Blobs(blobs), snapshot, yield_gil=_go_on)
    except (OSError, StorageError, ValueError):
        return 1
    return 0


def _go_on() -> None:
    """Do nothing: no other thread needs this interpreter."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
