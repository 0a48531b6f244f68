"""A test that timed out names the state of all tasks and threads."""

import asyncio
import threading

from tests.still_running import still_running


async def _waits_for_ever() -> None:
    await asyncio.Event().wait()


async def _closes() -> None:
    await _waits_for_ever()


async def test_a_task_is_named_with_the_innermost_place_it_waits_at_and_a_thread_with_its_stack() -> None:
    is_over = threading.Event()

    def reads() -> None:
        is_over.wait()

    thread = threading.Thread(target=reads)
    thread.start()
    task = asyncio.create_task(_closes(), name="window")
    try:
        await asyncio.sleep(0)
        said = still_running()
    finally:
        is_over.set()
        task.cancel()
        thread.join()
    window = next(line for line in said.splitlines() if line.startswith("task window: _closes ("))
    assert "> _waits_for_ever (" in window
    assert "in reads\n" in said
