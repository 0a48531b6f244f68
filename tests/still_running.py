"""The state of all tasks and threads, for the message of a test that timed out."""

import asyncio
import faulthandler
import tempfile
from collections.abc import Iterator
from types import FrameType


def still_running() -> str:
    """Describe all other tasks of the loop with what they await, and all threads."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    said = sorted(f"task {task.get_name()}: {' > '.join(_places(task))}" for task in tasks)
    with tempfile.TemporaryFile() as dump:
        faulthandler.dump_traceback(dump)
        dump.seek(0)
        return "\n".join([*said, dump.read().decode()])


def _places(task: asyncio.Task[object]) -> Iterator[str]:
    awaited: object = task.get_coro()
    while isinstance(frame := getattr(awaited, "cr_frame", None), FrameType):
        yield f"{frame.f_code.co_qualname} ({frame.f_lineno})"
        awaited = getattr(awaited, "cr_await", None)
