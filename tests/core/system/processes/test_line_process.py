"""A program that prints faster than we read is slowed down, and still ends after its reader has left."""

import asyncio
import sys
from contextlib import aclosing
from pathlib import Path

import pytest

from desktop_agent.core.system.processes.line_process import LineProcess
from desktop_agent.core.system.processes.runner import Command, ProcessRunner
from tests.harness import PATIENCE_S

FLOOD = """
import sys
line = b"x" * 1023 + b"\\n"
for _ in range(1060):
    sys.stdout.buffer.write(line)
sys.stdout.buffer.flush()
print("more than is kept for a reader", file=sys.stderr, flush=True)
while True:
    sys.stdout.buffer.write(line)
"""


@pytest.mark.parametrize("way", ["ended unread", "ended after its reader", "broken off", "asked to end"])
async def test_a_flood_that_nobody_reads_any_more_does_not_keep_a_program(
    runner: ProcessRunner, tmp_path: Path, way: str
) -> None:
    is_flooding = asyncio.Event()
    process = LineProcess(lambda _: None)
    argv = (sys.executable, "-c", FLOOD)
    command = Command(argv=argv, cwd=tmp_path, environ={}, takes_input=True)
    await process.start(runner, command, lambda _: is_flooding.set())
    await is_flooding.wait()
    if way != "ended unread":
        async with aclosing(process.lines()) as lines:
            await anext(lines)
    if way == "broken off":
        process.break_off("It prints too much.")
    elif way == "asked to end":
        process.child.ask_to_end()
    ending = process.end(0) if way.startswith("ended") else process.ended()
    done, _ = await asyncio.wait({asyncio.create_task(ending)}, timeout=PATIENCE_S)
    assert done, "it has ended"
