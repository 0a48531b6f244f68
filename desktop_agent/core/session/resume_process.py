"""The process that folds long journals: `python -m desktop_agent.core.session.resume_process JOURNAL BLOBS SNAPSHOT`.

Folding hundreds of megabytes takes seconds in which the interpreter lock is hardly ever free; in a thread of the
window's process every frame would wait for it. The process writes a snapshot and ends. `resume` starts it.
"""

import gc
import os
import sys
from pathlib import Path

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.session.resume import renew_snapshot
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.processes.worker_process import ignore_interrupts


def main(arguments: list[str]) -> int:
    ignore_interrupts()
    if sys.platform != "win32":
        os.nice(5)  # the user reads the end of the conversation meanwhile
    gc.disable()  # what is read leaves no cycles
    journal, blobs, snapshot = map(Path, arguments)
    try:
        renew_snapshot(
            journal, Blobs(blobs), snapshot, yield_gil=lambda: None
        )  # no other thread needs this interpreter
    except (OSError, StorageError, ValueError):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
