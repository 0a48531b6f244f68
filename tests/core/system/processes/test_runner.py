import asyncio
import os
import platform
import signal
import subprocess
import sys
import textwrap
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.system.processes.cgroup import CommandGroups, CommandLimits
from desktop_agent.core.system.processes.command_streams import Terminal
from desktop_agent.core.system.processes.output import (
    KEPT_BYTES,
    LIVE_INTERVAL_S,
    LIVE_LIMIT_BYTES,
    SPOOL_LIMIT_BYTES,
    OutputCapture,
)
from desktop_agent.core.system.processes.process_table import NICENESS
from desktop_agent.core.system.processes.process_tree import Guard, put_mark
from desktop_agent.core.system.processes.runner import Command, ProcessOutcome, ProcessRunner
from tests.core.printed import Printed
from tests.core.stubborn import is_alive
from tests.core.system.processes.commands import shell
from tests.loop_time import LoopTime

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are shell commands")


class Reports:
    """A named pipe, `report` in the command's folder, to which commands write process ids."""

    def __init__(self, folder: Path) -> None:
        os.mkfifo(folder / "report")
        self._end = os.open(folder / "report", os.O_RDWR)
        self._text = ""

    async def pids(self, count: int) -> list[int]:
        while self._text.count("\n") < count:
            self._text += (await asyncio.to_thread(os.read, self._end, 4096)).decode()
        return [int(line) for line in self._text.splitlines()[:count]]

    def close(self) -> None:
        os.close(self._end)


@pytest.fixture
def reports(tmp_path: Path) -> Iterator[Reports]:
    reports = Reports(tmp_path)
    yield reports
    reports.close()


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def living(pids: list[int]) -> list[int]:
    return [pid for pid in pids if is_alive(pid)]


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "script", "excess"),
    [
        (
            CommandLimits(max_processes=16),
            "for n in $(seq 40); do sleep 300 & echo $!; done; wait",
            "it ran more than 16 processes at once",
        ),
        (
            CommandLimits(max_processes=16),
            "for n in $(seq 40); do setsid -f sleep 300; done; sleep 300",
            "it ran more than 16 processes at once",
        ),
        (
            CommandLimits(max_memory_bytes=200 * 2**20),
            "x=$(head -c 400000000 /dev/zero | tr '\\0' x); sleep 300",
            "it held more than 0.2 GiB of memory",
        ),
    ],
    ids=["processes", "detached processes", "memory"],
)
async def test_a_command_that_exceeds_a_limit_is_stopped_and_says_why(
    tmp_path: Path, limits: CommandLimits, script: str, excess: str
) -> None:
    runner = ProcessRunner(SystemClock(), limits=lambda: limits)
    async with asyncio.timeout(30):
        outcome = await runner.run(shell(script, tmp_path))
    await runner.aclose()
    assert (outcome.end.excess, outcome.end.survivors) == (excess, {})
    assert living([int(line) for line in outcome.output.head.split() if line.isdigit()]) == []


async def test_a_process_opens_no_more_files_than_it_may(tmp_path: Path) -> None:
    runner = ProcessRunner(SystemClock(), limits=lambda: CommandLimits(max_open_files=100))
    outcome = await runner.run(shell("ulimit -Hn; ulimit -Sn; cat /proc/self/oom_score_adj", tmp_path))
    await runner.aclose()
    assert outcome.output.head == "100\n100\n500\n"


# --- plain runs -------------------------------------------------------------------------------------------------------


async def test_a_command_gives_way_to_the_window(runner: ProcessRunner, tmp_path: Path) -> None:
    behind = min(os.getpriority(os.PRIO_PROCESS, 0) + NICENESS, 19)
    outcome = await runner.run(shell(f"until [ $(nice) = {behind} ]; do :; done; echo behind", tmp_path), timeout_s=30)
    assert outcome.output.head == "behind\n"


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="no sharing among sessions")
async def test_the_session_of_a_command_gives_way_too(runner: ProcessRunner, tmp_path: Path) -> None:
    waiting = f"until grep -q 'nice {NICENESS}$' /proc/self/autogroup; do :; done; echo behind"
    commands = [runner.run(shell(waiting, tmp_path), timeout_s=30) for _ in range(2)]
    assert {outcome.output.head for outcome in await asyncio.gather(*commands)} == {"behind\n"}


async def test_a_program_is_told_the_folder_that_it_starts_in(runner: ProcessRunner, tmp_path: Path) -> None:
    for told in ({"PWD": "/elsewhere"}, {}):
        command = Command(argv=("/usr/bin/env",), cwd=tmp_path, environ=told)
        outcome = await runner.run(command)
        assert f"PWD={tmp_path}" in outcome.output.head.splitlines()


async def test_a_command_reads_the_given_text_and_nothing_otherwise(runner: ProcessRunner, tmp_path: Path) -> None:
    given = Command(argv=("cat", "/dev/stdin"), cwd=tmp_path, environ=os.environ, stdin="grüße\n")
    assert (await runner.run(given)).output.head == "grüße\n"
    assert (await runner.run(shell("cat; echo end", tmp_path))).output.head == "end\n"


async def test_a_command_that_ignores_a_large_input_still_ends(runner: ProcessRunner, tmp_path: Path) -> None:
    command = Command(argv=("true",), cwd=tmp_path, environ=os.environ, stdin="x" * 5_000_000)
    assert (await runner.run(command)).end.exit_code == 0


# --- timeouts, cancelling, left-overs ---------------------------------------------------------------------------------


async def timed_out_after(printed: str, runner: ProcessRunner, command: Command) -> ProcessOutcome:
    time, output = LoopTime(), Printed(printed)
    task = asyncio.create_task(runner.run(command, timeout_s=600, on_text=output.take))
    await output.wait()
    await time.let_pass(600)
    return await task


async def test_last_words_after_a_timeout_are_kept(tmp_path: Path) -> None:
    runner = ProcessRunner(SystemClock(), grace_s=30)
    script = "trap 'echo goodbye; exit 7' TERM; echo hello; while :; do sleep 0.01; done"
    outcome = await timed_out_after("hello\n", runner, shell(script, tmp_path))
    assert outcome.output.head.startswith("hello\n")
    assert outcome.output.head.endswith("goodbye\n")
    assert (outcome.timed_out, outcome.end.exit_code) == (True, 7)
    await runner.aclose()


async def test_cancelling_twice_does_not_leave_anything_behind(
    runner: ProcessRunner, tmp_path: Path, reports: Reports
) -> None:
    script = "trap '' TERM; echo $$ > report; while :; do sleep 0.01; done"
    task = asyncio.create_task(runner.run(shell(script, tmp_path)))
    processes = await reports.pids(1)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert living(processes) == []


async def test_a_command_that_is_cancelled_while_it_starts_says_how_it_ended(
    runner: ProcessRunner, tmp_path: Path
) -> None:
    """The command may have printed already: its output is neither lost nor left open."""
    script = "echo $$ >> pids; echo hello; sleep 100"
    for turns in range(13):
        outcomes: list[ProcessOutcome] = []
        running = runner.run(shell(script, tmp_path), on_cancelled=outcomes.append)
        task = asyncio.create_task(running)
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(outcomes) == min(turns, 1)
        assert all(outcome.output.head in ("", "hello\n") and not outcome.end.survivors for outcome in outcomes)
    assert living([int(line) for line in await asyncio.to_thread(_lines, tmp_path / "pids")]) == []


async def test_a_command_that_cannot_start_is_only_cancelled(runner: ProcessRunner, tmp_path: Path) -> None:
    command = Command(argv=(str(tmp_path / "nothing"),), cwd=tmp_path, environ={})
    task = asyncio.create_task(runner.run(command))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_grandchild_that_prints_for_ever_does_not_hang_the_call(runner: ProcessRunner, tmp_path: Path) -> None:
    outcome = await runner.run(shell("yes & exit 0", tmp_path))
    assert list(outcome.end.ended.values()) == ["yes"]
    assert outcome.end.exit_code == 0


async def test_all_output_is_read_although_a_grandchild_holds_the_pipe(runner: ProcessRunner, tmp_path: Path) -> None:
    outcome = await runner.run(shell("sleep 100 & seq 200000", tmp_path))
    assert outcome.output.total_lines == 200_000
    assert outcome.output.tail.endswith("200000\n")


_SILENT = "< /dev/null > /dev/null 2>&1"
DETACHED = {
    "setsid": f"setsid ./stay {_SILENT} &",
    "nohup": f"nohup ./stay {_SILENT} &",
    "disown": f"bash -c './stay {_SILENT} & disown'",
    "double fork": f"(setsid sh -c './stay & exit' {_SILENT} &)",
    "no environment": f"env -i setsid ./stay {_SILENT} &",
    "another mark": f"DESKTOP_AGENT_PROCESS=other.1 setsid ./stay {_SILENT} &",
    "ignores TERM": f"setsid sh -c 'trap : TERM HUP; ./stay & wait; wait' {_SILENT} &",
    "daemon": (
        "python3 -c 'import os; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); "
        'os.closerange(0, 99); os.execve("stay", ["stay"], {})\''
    ),
    "another user": f"setpriv --reuid 65534 --clear-groups setsid ./stay {_SILENT} &",
}
"""Ways to detach a child: `stay` reports its process id, and stays."""


def no_groups(_mark: str) -> CommandGroups | None:
    return None


def _write_stay(folder: Path) -> None:
    (folder / "stay").write_text("#!/bin/sh\necho $$ > report\nwhile :; do sleep 100; done\n")
    (folder / "stay").chmod(0o755)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a mark that survives all of them")
@pytest.mark.parametrize("open_groups", [CommandGroups.open, no_groups], ids=["cgroup", "no cgroup"])
@pytest.mark.parametrize("way", DETACHED)
async def test_what_detaches_itself_ends_with_its_command_and_is_named(
    way: str, open_groups: Callable[[str], CommandGroups | None]
) -> None:
    if way == "another user" and os.getuid():
        pytest.skip("only root starts programs as another user")
    runner = ProcessRunner(SystemClock(), grace_s=0.3, open_groups=open_groups)
    with TemporaryDirectory() as name:  # where another user may go, too
        folder = Path(name)
        os.chmod(folder, 0o777)  # noqa: PTH101 -- at once
        _write_stay(folder)
        os.mkfifo(folder / "report")
        (folder / "report").chmod(0o666)
        outcome = await runner.run(shell(DETACHED[way] + "\nread pid < report; echo $pid", folder))
    await runner.aclose()
    pid = int(outcome.output.head)
    assert pid in outcome.end.ended
    assert living(list(outcome.end.ended)) == []
    assert outcome.end.survivors == {}


async def test_what_the_users_terminal_detaches_lives_until_the_application_ends(
    tmp_path: Path, reports: Reports
) -> None:
    runner = ProcessRunner(SystemClock(), grace_s=0.3)
    os.mkfifo(tmp_path / "gone")
    leaving = "echo > gone; echo $$ > report; exec sleep 100"
    script = f"setsid sh -c '{leaving}' < /dev/null > /dev/null 2>&1 & read _ < gone"
    child = await runner.interact(shell(script, tmp_path), Terminal.open(), lambda _: None)
    await child.wait()
    end, daemon = await child.end(), await reports.pids(1)
    assert end.ended == {}
    assert living(daemon) == daemon
    await runner.aclose()
    assert living(daemon) == []


async def test_closing_ends_what_still_runs(tmp_path: Path, reports: Reports) -> None:
    runner = ProcessRunner(SystemClock(), grace_s=0.3)
    tasks = [asyncio.create_task(runner.run(shell("echo $$ > report; exec sleep 100", tmp_path))) for _ in range(3)]
    processes = await reports.pids(3)
    await runner.aclose()
    assert living(processes) == []
    assert {(await task).end.exit_code for task in tasks} == {128 + signal.SIGTERM}


@pytest.mark.skipif(sys.platform != "linux", reason="the guard reads /proc")
@pytest.mark.parametrize("options", ["", "open_groups=lambda _: None"], ids=["cgroup", "no cgroup"])
@pytest.mark.parametrize("way", ["setsid", "double fork", "no environment"])
async def test_a_killed_application_leaves_no_process_behind(
    tmp_path: Path, reports: Reports, way: str, options: str
) -> None:
    _write_stay(tmp_path)
    program = textwrap.dedent(f"""
        import asyncio, os, pathlib, sys
        from desktop_agent.core.base.clock import SystemClock
        from desktop_agent.core.system.processes.runner import Command, ProcessOutcome, ProcessRunner
        command = Command(argv=("/bin/bash", "-c", sys.argv[2]), cwd=pathlib.Path(sys.argv[1]), environ=os.environ)
        runner = ProcessRunner(SystemClock(), end=pathlib.Path("ended").resolve(), {options})
        asyncio.run(runner.run(command))
    """)
    os.mkfifo(tmp_path / "ended")
    script = DETACHED[way] + "\necho $$ > report; sleep 100"
    application = await asyncio.create_subprocess_exec(sys.executable, "-c", program, tmp_path, script, cwd=tmp_path)
    processes = [psutil.Process(pid) for pid in await reports.pids(2)]
    application.kill()
    await application.wait()
    await asyncio.to_thread((tmp_path / "ended").read_bytes)  # the guard says when
    assert living([process.pid for process in processes]) == []


@pytest.mark.skipif(sys.platform != "linux", reason="the guard reads /proc")
async def test_what_an_application_inside_a_killed_one_was_running_ends_too(tmp_path: Path, reports: Reports) -> None:
    """The guard of the outer application ends the inner one, whose own guard must outlive it."""
    program = textwrap.dedent("""
        import asyncio, os, pathlib, sys
        from desktop_agent.core.base.clock import SystemClock
        from desktop_agent.core.system.processes.runner import Command, ProcessRunner
        async def run():
            runner = ProcessRunner(SystemClock(), open_groups=lambda _: None)
            command = Command(argv=tuple(sys.argv[1:]), cwd=pathlib.Path.cwd(), environ=os.environ)
            await (await runner.start(command, lambda _: None, lambda _: None)).wait()
        asyncio.run(run())
    """)
    inner = (sys.executable, "-c", program, "/bin/bash", "-c", "echo $$ > report; exec sleep 100")
    application = await asyncio.create_subprocess_exec(sys.executable, "-c", program, *inner, cwd=tmp_path)
    (command,) = [psutil.Process(pid) for pid in await reports.pids(1)]
    application.kill()
    await application.wait()
    assert (await asyncio.to_thread(psutil.wait_procs, [command], timeout=30))[1] == []


@pytest.mark.skipif(sys.platform != "linux", reason="the guard reads /proc")
async def test_what_a_killed_application_was_just_starting_is_ended(tmp_path: Path, reports: Reports) -> None:
    """A process has the mark only after its exec, here a moment later."""
    program = textwrap.dedent("""
        import os, subprocess, sys
        from desktop_agent.core.system.processes.process_tree import Guard
        from desktop_agent.core.system.processes.process_tree import MARK_VARIABLE
        guard = Guard.start("late", None)
        script = f"echo $$ > report; sleep 0.1; export {MARK_VARIABLE}=late.1; exec sleep 100"
        subprocess.Popen(["/bin/bash", "-c", script], cwd=sys.argv[1], stdin=subprocess.DEVNULL)
        sys.stdin.read()
    """)
    application = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, tmp_path, stdin=asyncio.subprocess.PIPE
    )
    (late,) = [psutil.Process(pid) for pid in await reports.pids(1)]
    application.kill()
    await application.wait()
    await asyncio.to_thread(psutil.wait_procs, [late])


@pytest.mark.skipif(sys.platform != "linux", reason="the guard reads /proc")
def test_a_process_that_goes_on_without_its_first_thread_is_ended() -> None:
    """`/proc` shows it as a zombie, like a finished process, and shows no environment."""
    ends_this_thread = {"x86_64": 60}.get(platform.machine(), 93)
    program = "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(100,)).start(); "
    guard = Guard.start("threads", None)
    assert guard is not None
    command = [sys.executable, "-c", f"{program}ctypes.CDLL(None).syscall({ends_this_thread}, 0)"]
    with subprocess.Popen(command) as process:
        put_mark(process.pid, "threads.1")
        while psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE:
            assert process.poll() is None
        guard.close()
        assert process.wait(10) == -signal.SIGKILL


# --- much output ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spooled", [False, True])
async def test_200_mb_of_output_need_little_memory(runner: ProcessRunner, tmp_path: Path, *, spooled: bool) -> None:
    process = psutil.Process()
    await runner.run(shell("head -c 1000000 /dev/zero", tmp_path), spool_folder=tmp_path / "spool")
    before = process.memory_info().rss
    tracemalloc.start()
    try:
        outcome = await runner.run(
            shell("yes | head -c 200000000", tmp_path), spool_folder=tmp_path / "spool" if spooled else None
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (outcome.output.total_bytes, outcome.output.total_lines) == (200_000_000, 100_000_000)
    assert len(outcome.output.head) == KEPT_BYTES
    assert len(outcome.output.tail) == KEPT_BYTES
    assert peak < 16 * 1024 * 1024
    assert process.memory_info().rss - before < 48 * 1024 * 1024
    if outcome.output.spool_path is None:
        assert not spooled
        return
    content = await asyncio.to_thread(outcome.output.spool_path.read_bytes)
    mark = b"\n[... 132,825,600 bytes not kept ...]\n"
    assert outcome.output.spooled_bytes == SPOOL_LIMIT_BYTES + KEPT_BYTES == len(content) - len(mark)
    assert content[SPOOL_LIMIT_BYTES:].startswith(mark)
    assert content.endswith(outcome.output.tail.encode())


async def test_the_loop_runs_on_while_output_pours_in(runner: ProcessRunner, tmp_path: Path) -> None:
    """A task that only yields gets a turn for about every chunk, since a chunk is at most one read."""
    task = asyncio.create_task(runner.run(shell("yes | head -c 50000000", tmp_path), spool_folder=tmp_path))
    turns = 0
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 50_000_000 // (256 * 1024)


async def test_the_file_has_the_whole_output(runner: ProcessRunner, tmp_path: Path) -> None:
    outcome = await runner.run(shell("seq 200000", tmp_path), spool_folder=tmp_path / "deep" / "spool")
    assert outcome.output.spool_path is not None
    expected = "".join(f"{number}\n" for number in range(1, 200_001))
    assert await asyncio.to_thread(outcome.output.spool_path.read_text) == expected
    assert outcome.output.spooled_bytes == outcome.output.total_bytes == len(expected)
    assert outcome.output.head == expected[:KEPT_BYTES]
    assert outcome.output.tail == expected[-KEPT_BYTES:]
    assert outcome.output.spool_path.stat().st_mode & 0o777 == 0o600


async def test_live_text_is_limited_in_rate_and_size(runner: ProcessRunner, tmp_path: Path) -> None:
    texts: list[str] = []
    moments: list[float] = []

    def take(text: str) -> None:
        texts.append(text)
        moments.append(asyncio.get_running_loop().time())

    await runner.run(shell("yes | head -c 50000000", tmp_path), on_text=take)
    assert all(later - earlier > LIVE_INTERVAL_S * 0.99 for earlier, later in pairwise(moments[:-1])), "but the end"
    assert max(map(len, texts)) <= LIVE_LIMIT_BYTES + 100
    assert any("bytes not shown live" in text for text in texts)
    assert texts[-1].endswith("y\ny\n")


async def test_characters_cut_by_a_read_stay_whole(runner: ProcessRunner, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    output = Printed("a")
    script = r"printf 'a\xe2\x82'; read -r _ < gate; printf '\xac b\xff c\xe2'"
    task = asyncio.create_task(runner.run(shell(script, tmp_path), on_text=output.take))
    await output.wait()
    assert output.seen == "a"
    await asyncio.to_thread((tmp_path / "gate").write_text, "go\n")
    outcome = await task
    assert output.seen == outcome.output.head == "a€ b\ufffd c\ufffd"


async def test_head_and_tail_begin_and_end_with_whole_characters(tmp_path: Path) -> None:
    capture = OutputCapture()
    data = ("a" + "€" * 100_000).encode()
    for start in range(0, len(data), 1000):
        capture.feed(data[start : start + 1000])
    output = await capture.finish()
    assert output.head == "a" + "€" * ((KEPT_BYTES - 1) // 3)
    assert set(output.tail) == {"€"}
    assert KEPT_BYTES - 3 < len(output.tail.encode()) <= KEPT_BYTES


async def test_of_what_is_no_text_the_beginning_and_the_end_are_read_and_the_rest_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("desktop_agent.core.system.processes.output.MOST_EFFORT", 256 * 1024)
    capture = OutputCapture()
    noise = b"\x1b[3%dm\r\x9b\x80x\x1b]" * 10_000
    capture.feed(b"the beginning\n")
    for _ in range(20):
        capture.feed(noise)
    capture.feed(b"\x18\nthe end\n")
    output = await capture.finish()
    assert output.head.startswith("the beginning\n")
    assert (output.head + output.tail).endswith("the end\n")
    assert "bytes not read ...]" in output.head + output.tail
    assert output.total_bytes == 14 + 20 * len(noise) + 10


async def test_many_commands_run_side_by_side(runner: ProcessRunner, tmp_path: Path) -> None:
    """Each command waits for the next one's file, so they could not run one after the other."""
    scripts = [f"touch {n}; until [ -e {(n + 1) % 5} ]; do sleep 0.01; done; echo {n}" for n in range(5)]
    outcomes = await asyncio.gather(*(runner.run(shell(script, tmp_path)) for script in scripts))
    assert [outcome.output.head for outcome in outcomes] == [f"{n}\n" for n in range(5)]


def test_importing_needs_nothing_of_posix() -> None:
    """The module must load where there is no `os.killpg`."""
    program = "import os; del os.killpg, os.getpgid; import desktop_agent.core.system.processes.runner"
    subprocess.check_call([sys.executable, "-c", program])


async def test_a_closed_runner_starts_nothing_more(runner: ProcessRunner, tmp_path: Path) -> None:
    late = asyncio.create_task(runner.run(shell("echo late", tmp_path)))
    await runner.aclose()
    with pytest.raises(OSError, match="closing"):
        await late
    with pytest.raises(OSError, match="closing"):
        await runner.run(shell("echo later", tmp_path))
