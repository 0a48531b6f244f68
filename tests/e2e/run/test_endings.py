"""`run` and `tools call` end on a signal at each stage: in order, without more output, and resumable.

Each stage reports itself through a pipe, so that no test sleeps.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from desktop_agent import AppPaths, Rule, RulesFile, repository_mark
from tests.command_line import PROGRAM
from tests.e2e.run.agent import Agent
from tests.servers import fault
from tests.servers.script import Reply, reply, text, tool_use
from tests.servers.threaded import ThreadedServer, serve

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and named pipes of Unix")

COMMAND = "sh gate.sh"
LONG = "A long answer. " * 10_000
"""More than a pipe holds, so that its writer waits for the reader."""


@dataclass
class Process:
    process: "subprocess.Popen[bytes]"
    server: ThreadedServer
    gate: int
    """The reading end of the named pipe of the started command."""

    def read_line_with(self, words: bytes) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if words in line:
                return
        raise AssertionError(f"{words!r} never came; {self.process.stderr and self.process.stderr.read()!r}")

    def send(self, **op: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(op).encode() + b"\n")
        self.process.stdin.flush()


ONLY_INTERRUPTED = frozenset({130})


@dataclass
class Stage:
    replies: Sequence[Reply]
    reached: Callable[[Process], None]
    options: tuple[str, ...] = ()
    codes: frozenset[int] = ONLY_INTERRUPTED


def opened(run: Process) -> None:
    run.read_line_with(b'"session_opened"')


def streaming(run: Process) -> None:
    run.server.wait_for_stall()


def gated(run: Process) -> None:
    assert os.read(run.gate, 100) == b"up\n"


def asked(run: Process) -> None:
    run.read_line_with(b'"approval_requested"')


def ended(run: Process) -> None:
    run.read_line_with(b'"turn_ended"')


def printing(run: Process) -> None:
    """The result is being printed into a full pipe."""
    assert run.process.stdout is not None
    assert run.process.stdout.read(1)


HALF = reply(text("Half an answer"), fault.stall_after(events=3))
RUNS = reply(tool_use("run_terminal_cmd", command=COMMAND, explanation="Wait"))
EDITS = reply(tool_use("edit_file", path="a.py", old_str="1", new_str="2"))
ASKS = ("--approval-command", "sh gate.sh")
AT_THE_END = frozenset({0, 130})

STAGES = {
    "before the first request": Stage((HALF,), opened, ("--stream",)),
    "while the model answers, --stream": Stage((HALF,), streaming, ("--stream",)),
    "while the model answers, --json": Stage((HALF,), streaming, ("--json",)),
    "while a command runs": Stage((RUNS,), gated, ("--json",)),
    "while a command runs, --stream": Stage((RUNS,), gated, ("--stream",)),
    "at an approval": Stage((EDITS,), gated, ("--json", *ASKS)),
    "during the end": Stage((reply(text("Done.")),), ended, ("--stream",), AT_THE_END),
    "while the result is printed": Stage((reply(text(LONG)),), printing, ("--json",), AT_THE_END),
}
STREAMED = {
    "before a prompt": Stage((), opened),
    "while the model answers": Stage((HALF,), streaming),
    "while a command runs": Stage((RUNS,), gated),
    "at an approval": Stage((EDITS,), asked),
    "during the end": Stage((reply(text("Done.")),), ended, (), AT_THE_END),
}
CALLS = {
    "while a command runs": ("run_terminal_cmd", {"command": COMMAND, "explanation": "Wait"}, gated, ONLY_INTERRUPTED),
    "while the result is printed": ("read_file", {"path": "long.txt"}, printing, AT_THE_END),
}
ONLY_AT_NIGHT = ["while the model answers, --stream", "while a command runs, --stream"]
"""By day the terminal goes while the model answers a stream."""
BOTH = (signal.SIGINT, signal.SIGTERM)


def every(names: Sequence[str], *, nightly: Sequence[str] = ()) -> list[object]:
    """Each stage with each signal. By day each stage has one signal, and some stages none."""
    pairs = [(name, number) for name in names for number in BOTH]
    chosen = [(name, BOTH[place % 2]) for place, name in enumerate(names) if name not in nightly]
    return [
        pytest.param(*pair, marks=() if pair in chosen else pytest.mark.nightly, id=f"{pair[0]}, {pair[1].name}")
        for pair in pairs
    ]


@pytest.fixture
def gate(workspace: Path) -> Generator[int]:
    """A pipe that `sh gate.sh` keeps open while it lives; a rule allows that command."""
    os.mkfifo(workspace / "gate")
    (workspace / "gate.sh").write_text("exec 3>gate\necho up >&3\nexec sleep 600\n")
    (workspace / "long.txt").write_text(LONG)
    place = repository_mark(COMMAND, workspace, os.environ)
    RulesFile(AppPaths.from_environment().config / "rules.toml").add(
        Rule(
            id="r-gate", effect="allow", kind="command", pattern=COMMAND, scope="always", is_unconfined=True,
            created_at=datetime(2026, 11, 22, tzinfo=UTC), repository=place.path, repository_mark=place.mark,
        )
    )  # fmt: skip
    descriptor = os.open(workspace / "gate", os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    held = os.open(workspace / "gate", os.O_WRONLY)  # a reader waits for words, and does not see an end before them
    try:
        yield descriptor
    finally:
        os.close(held)
        assert os.read(descriptor, 100) == b"", "what the run had started was still at work"
        os.close(descriptor)


@contextmanager
def started(workspace: Path, server: ThreadedServer, gate: int, *arguments: str) -> Generator[Process]:
    command = [*PROGRAM, *arguments, "--workspace", str(workspace)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=workspace) as process:
        try:
            yield Process(process, server, gate)
        finally:
            process.kill()


def end_by(run: Process, number: signal.Signals, codes: frozenset[int]) -> bytes:
    """Send the signal, check the exit code, and return the remaining output."""
    run.process.send_signal(number)
    if run.process.stdin is not None and not run.process.stdin.closed:
        run.process.stdin.close()
        run.process.stdin = None
    out, err = run.process.communicate(timeout=60)
    assert (run.process.returncode in codes, b"Traceback" in err, b"ignored" in err) == (True, False, False), err
    return out


def require_resumable(agent: Agent, workspace: Path, server: ThreadedServer) -> None:
    """Check that the journal is whole and the conversation can go on."""
    server.release()
    verified = agent("sessions", "verify", "--json")
    assert verified.code == 0, verified.out
    server.will(reply(text("Here again.")))
    ran = agent.run(workspace, server.url, "--continue", prompt="And now?")
    assert (ran.code, ran.json["stopped_reason"]) == (0, "completed"), ran.err
    assert server.violations == []


@pytest.mark.parametrize(
    ("stage", "number"),
    [
        *every(list(STAGES), nightly=ONLY_AT_NIGHT),
        pytest.param("while the model answers, --stream", signal.SIGHUP, id="the terminal has gone"),
    ],
)
def test_a_signal_ends_a_run_in_order_and_it_can_be_resumed(
    agent: Agent, workspace: Path, gate: int, stage: str, number: signal.Signals
) -> None:
    at = STAGES[stage]
    with serve(*at.replies) as server:
        options = ("run", "--prompt", "go", "--base-url", server.url, *at.options)
        with started(workspace, server, gate, *options) as run:
            at.reached(run)
            out = end_by(run, number, at.codes)
        if "--stream" in at.options and stage != "during the end":
            assert json.loads(out.splitlines()[-1])["reason"] == "interrupted"
        elif at.codes == ONLY_INTERRUPTED:
            assert json.loads(out)["stopped_reason"] == "interrupted"
        require_resumable(agent, workspace, server)


@pytest.mark.parametrize(("stage", "number"), every(list(STREAMED), nightly=["while a command runs", "during the end"]))
def test_a_signal_ends_a_run_that_another_program_drives(
    agent: Agent, workspace: Path, gate: int, stage: str, number: signal.Signals
) -> None:
    at = STREAMED[stage]
    with serve(*at.replies) as server:
        options = ("run", "--input-format", "stream", "--stream", "--base-url", server.url)
        with started(workspace, server, gate, *options) as run:
            if stage != "before a prompt":
                run.send(type="submit_prompt", text="go")
            at.reached(run)
            end_by(run, number, at.codes)
        if stage != "before a prompt":
            require_resumable(agent, workspace, server)


@pytest.mark.parametrize(("stage", "number"), every(list(CALLS)))
def test_a_signal_ends_a_call_by_hand_and_its_record_is_whole(
    agent: Agent, workspace: Path, gate: int, stage: str, number: signal.Signals
) -> None:
    tool, arguments, reached, codes = CALLS[stage]
    call = ("tools", "call", tool, json.dumps(arguments), "--json")
    with serve() as server, started(workspace, server, gate, *call) as run:
        reached(run)
        end_by(run, number, codes)
    assert agent("sessions", "verify", "--json").code == 0


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, *(pytest.param(number, marks=pytest.mark.nightly) for number in (signal.SIGINT, signal.SIGHUP))],
)
def test_a_signal_while_it_is_being_imported_ends_it_without_a_word(tmp_path: Path, number: signal.Signals) -> None:
    program = textwrap.dedent("""
        import sys
        from desktop_agent.cli import main

        class Slow:
            def find_spec(self, name, *_):
                if name == "desktop_agent.cli.run":
                    print("importing", flush=True)
                    import time
                    while True:  # a signal that comes just before a sleep is noticed only behind it
                        time.sleep(0.01)

        sys.meta_path.insert(0, Slow())
        sys.argv = ["desktop-agent", "run", "--prompt", "x"]
        sys.exit(main())
    """)
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", program], stdout=pipe, stderr=pipe, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"importing\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_a_signal_that_was_ignored_from_the_start_stays_ignored(workspace: Path) -> None:
    """Such as behind `nohup`, or in the background of a script."""
    with serve(HALF) as server:
        run = f"{shlex.join(PROGRAM)} run --prompt x --json --base-url {server.url}"
        shell = f'trap "" INT HUP; exec {run}'
        with subprocess.Popen(["sh", "-c", shell], stdout=subprocess.PIPE, cwd=workspace) as process:
            server.wait_for_stall()
            process.send_signal(signal.SIGHUP)
            process.send_signal(signal.SIGINT)
            server.release()
            out, _ = process.communicate(timeout=60)
    assert (process.returncode, json.loads(out)["final_response"]) == (0, "Half an answer")


RUN = "run --prompt x --base-url {url}"
CALL = """tools call read_file '{{"path": "a.py"}}'"""


@pytest.mark.parametrize(
    ("command", "closed"),
    [
        (f"{RUN} --json", ">&- 2>&- <&-"),
        (f"{RUN} --stream", ">&-"),
        (CALL, "2>&-"),
        *(
            pytest.param(command, closed, marks=pytest.mark.nightly)
            for command in (f"{RUN} --json", f"{RUN} --stream", CALL)
            for closed in (">&-", "2>&-", "<&-")
        ),
    ],
)
def test_a_stream_that_is_closed_from_the_start_is_no_trouble_and_no_file_takes_its_place(
    agent: Agent, workspace: Path, closed: str, command: str
) -> None:
    with serve(reply(text("Hello."))) as server:
        shell = f"{shlex.join(PROGRAM)} {command.format(url=server.url)} {closed}"
        done = subprocess.run(  # noqa: TID251 - a shell that closes what it starts
            shell, shell=True, cwd=workspace, capture_output=True, check=False, timeout=60
        )
    assert (done.returncode, done.stderr) == (0, b"")
    assert agent("sessions", "verify", "--json").code == 0


@pytest.mark.parametrize("arguments", [("run", "--prompt", "x", "--provider", "demo", "--json"), ("tools", "list")])
def test_a_reader_that_has_gone_is_met_without_a_word(workspace: Path, arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [*PROGRAM, *arguments]
    with subprocess.Popen(command, stdout=writing, stderr=subprocess.PIPE, cwd=workspace) as process:
        os.close(writing)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, b"")
