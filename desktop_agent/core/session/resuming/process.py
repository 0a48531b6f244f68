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
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.system.processes.worker_process import NO_WINDOW, ignore_interrupts, module_command

_MODULE: Final = "desktop_agent.core.session.resuming.process"


def start_snapshot(journal: Path, blobs: Path, snapshot: Path) -> subprocess.Popen[bytes]:
    """Start the process; it ends with 0 when there is a snapshot. Raises `OSError` when there can be no more."""
    return subprocess.Popen(  # noqa: S603 - our own module
        module_command(_MODULE, *map(str, (journal, blobs, snapshot))),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=child_environment(os.environ),
        creationflags=NO_WINDOW,
    )


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
