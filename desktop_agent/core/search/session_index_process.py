"""The process that updates the index: `python -m desktop_agent.core.search.session_index_process`."""

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.search.session_search import SessionSearch
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.system.processes.child import started
from desktop_agent.core.system.processes.process_table import lower_own_priority
from desktop_agent.core.system.processes.worker_process import NO_WINDOW, ignore_interrupts, module_command

_MODULE = "desktop_agent.core.search.session_index_process"
_FAILED = 1


async def update_beside(sessions: Path, blobs: Path, cache: Path) -> bool:
    """The process is ended if this is cancelled. Return whether the update worked."""
    try:
        process = await started(
            asyncio.create_subprocess_exec(
                *module_command(_MODULE, *map(str, (sessions, blobs, cache))),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=child_environment(os.environ),
                start_new_session=sys.platform != "win32",
                creationflags=NO_WINDOW,
            ),
            _end,
        )
    except OSError:
        return False
    try:
        return await process.wait() == 0
    finally:
        await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    await process.wait()


def main(sessions: str, blobs: str, cache: str) -> int:
    ignore_interrupts()
    lower_own_priority()
    stop = threading.Event()
    threading.Thread(target=_watch_input, args=(stop,), daemon=True).start()
    try:
        SessionSearch(Path(sessions), Blobs(Path(blobs)), Path(cache)).update(is_stopped=stop.is_set)
    except StorageError:
        return _FAILED
    return 0


def _watch_input(stop: threading.Event) -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    stop.set()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
