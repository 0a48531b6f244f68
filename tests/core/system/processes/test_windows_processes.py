"""What Windows does differently: the line of its shell, parents that have ended, and the end of an application."""

import asyncio
import os
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.system.processes.process_table import ProcessEntry
from desktop_agent.core.system.processes.process_tree import descendants
from desktop_agent.core.system.processes.runner import Command, ProcessRunner

on_windows = pytest.mark.skipif(sys.platform != "win32", reason="only Windows has it")
CMD = (os.environ.get("COMSPEC", "cmd.exe"), "/d", "/s", "/c")


def entry(pid: int, parent: int, started: float) -> ProcessEntry:
    return ProcessEntry(pid=pid, parent=parent, group=0, name="", threads=1, started=started, resident_bytes=0)


def test_a_process_older_than_its_parent_is_not_a_descendant() -> None:
    """Windows names a parent that has ended. Its id may be another process's by now, even our command's."""
    table = {one.pid: one for one in (entry(10, 1, 5.0), entry(11, 10, 6.0), entry(12, 11, 6.0), entry(13, 10, 4.0))}
    assert descendants({10}, table) == {11, 12}


@on_windows
@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ('echo "a b" & echo c', '"a b" \nc\n'),
        (f'"{sys.executable}" -c "import sys; print(sys.argv[1:])" "a b" c', "['a b', 'c']\n"),
    ],
)
async def test_cmd_gets_its_line_as_it_was_written(tmp_path: Path, line: str, printed: str) -> None:
    runner = ProcessRunner(SystemClock())
    outcome = await runner.run(Command(argv=(*CMD, line), cwd=tmp_path, environ=os.environ))
    await runner.aclose()
    assert outcome.output.head.replace("\r\n", "\n") == printed


_STARTS_ANOTHER = (
    "import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', 'input()']).pid, flush=True); input()"
)


@on_windows
async def test_what_a_stopped_command_started_is_ended(tmp_path: Path) -> None:
    runner, printed = ProcessRunner(SystemClock()), asyncio.Queue[bytes]()
    command = Command(argv=(sys.executable, "-c", _STARTS_ANOTHER), cwd=tmp_path, environ=os.environ, takes_input=True)
    child = await runner.start(command, printed.put_nowait, lambda _: None)
    inner = psutil.Process(int(await printed.get()))
    await child.end()
    await asyncio.to_thread(psutil.wait_procs, [inner])
    await runner.aclose()


@on_windows
async def test_commands_of_a_killed_application_end(tmp_path: Path) -> None:
    program = textwrap.dedent(f"""
        import asyncio, os, pathlib, sys
        from desktop_agent.core.base.clock import SystemClock
        from desktop_agent.core.system.processes.runner import Command, ProcessRunner
        async def main():
            command = Command(argv=(sys.executable, "-c", {_STARTS_ANOTHER!r}), cwd=pathlib.Path.cwd(),
                              environ=os.environ, takes_input=True)
            await ProcessRunner(SystemClock()).start(command, lambda output: os.write(1, output), lambda _: None)
            await asyncio.Event().wait()
        asyncio.run(main())
    """)
    application = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL
    )
    assert application.stdout is not None
    inner = psutil.Process(int(await application.stdout.readline()))
    application.kill()
    await application.wait()
    await asyncio.to_thread(psutil.wait_procs, [inner])
