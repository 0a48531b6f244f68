"""`run_terminal_cmd`: every parameter and every error, on real commands."""

import asyncio
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.protocol.model import ToolResult
from desktop_agent.core.system.processes import shell as shell_module
from desktop_agent.core.system.processes.output import SPOOL_LIMIT_BYTES
from desktop_agent.core.system.processes.runner import Command, ProcessOutcome, ProcessRunner
from desktop_agent.core.system.processes.shell import Shell, find_shell
from desktop_agent.core.tools.builtin import run_terminal_cmd as module
from desktop_agent.core.tools.builtin.run_terminal_cmd import SPOOL_KEY, RunTerminalCmd
from desktop_agent.core.tools.tool import ToolContext
from tests.core.printed import Printed
from tests.core.tools.conftest import Workspace
from tests.loop_time import LoopTime

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are shell commands")

TOOL = RunTerminalCmd()
PYTHON = shlex.quote(sys.executable)
_FOUND = find_shell(os.environ)
assert _FOUND is not None
BASH: Shell = _FOUND


async def run(work: Workspace, command: str, **arguments: object) -> ToolResult:
    return await work.call(TOOL, command=command, **arguments)


async def output(work: Workspace, command: str, **arguments: object) -> str:
    return json.loads((await run(work, command, **arguments)).content)["output"]


async def timed_out_after(printed: str, work: Workspace, command: str, **arguments: object) -> ToolResult:
    time, output = LoopTime(), Printed(printed)
    context = replace(work.context, emit_output=output.take)
    task = asyncio.create_task(TOOL.run(TOOL.parse({"command": command, "timeout": 600, **arguments}), context))
    await output.wait()
    await time.let_pass(600)
    return await task


def with_environment(work: Workspace, **variables: str) -> ToolContext:
    return replace(work.context, environ={**work.context.environ, **variables})


# --- foreground -------------------------------------------------------------------------------------------------------


async def test_the_answer_has_output_exit_code_and_duration(work: Workspace) -> None:  # T-90, Z-46
    result = await run(work, "echo one; echo two >&2; echo three")
    answer = json.loads(result.content)
    assert answer["output"] == "one\ntwo\nthree\n"
    assert answer["metadata"] == {
        "exit_code": 0,
        "duration_seconds": answer["metadata"]["duration_seconds"],
        "timed_out": False,
        "truncated": False,
    }
    assert re.fullmatch(r"\d+\.\d", str(answer["metadata"]["duration_seconds"]))
    assert set(answer) == {"output", "metadata"}
    assert (result.is_error, result.error_type, result.output) == (False, None, None)
    assert result.metadata == answer["metadata"]
    assert "".join(work.shown) == "one\ntwo\nthree\n"


async def test_variables_are_added_to_the_environment(work: Workspace) -> None:
    """T-87, Z-48: no other variable of ours is in it."""
    assert await output(work, "echo $A-$PATH", env={"A": "1 2", "PATH": os.environ["PATH"]}) == (
        f"1 2-{os.environ['PATH']}\n"
    )
    names = {line.partition("=")[0] for line in (await output(work, "env")).splitlines()}
    ours = {"PAGER", "GIT_PAGER", "MANPAGER", "GH_PAGER", "GIT_TERMINAL_PROMPT", "GIT_EDITOR", "TERM"}
    assert names - {"PWD", "OLDPWD", "SHLVL", "_"} == {"PATH", "HOME", "DESKTOP_AGENT_PROCESS"} | ours


async def test_pagers_and_prompts_never_wait(work: Workspace) -> None:
    """Z-49: the environment ensures it; the command is not changed."""
    text = await output(work, "echo $TERM $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT")
    assert text == "xterm-256color cat cat 0\n"
    assert await output(work, "echo $PAGER", env={"PAGER": "mine"}) == "mine\n"
    dumb = with_environment(work, TERM="dumb", PAGER="less")
    result = await TOOL.run(TOOL.parse({"command": "echo $TERM $PAGER"}), dumb)
    assert json.loads(result.content)["output"] == "dumb cat\n"


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
async def test_git_pages_and_edits_without_a_person(work: Workspace) -> None:
    name = "git -c user.name=x -c user.email=x@example.org"
    script = f"git init -q && {name} commit -q --allow-empty -m first && git log --format=%s && {name} commit --amend"
    assert (await output(work, script)).startswith("first\n")


@pytest.mark.parametrize("shell", ["python3", "/usr/bin/perl", "fish", "cmd", "./tool", "zsh", "/bin/ksh", "mksh"])
async def test_only_a_shell_that_reads_the_command_as_it_was_judged_can_be_chosen(work: Workspace, shell: str) -> None:
    """Commands are judged by bash's grammar; zsh would run its own words."""
    with pytest.raises(ToolError, match="cannot be the shell") as caught:
        await run(work, "import os; os.remove('a')", shell=shell)
    assert caught.value.error_type == "validation"


@pytest.mark.parametrize("shell", ["/bin/sh", "/usr/bin/zsh", "/no/such/shell", "/usr/sbin/nologin"])
async def test_commands_run_in_bash_whatever_the_users_own_shell_is(work: Workspace, shell: str) -> None:
    result = await TOOL.run(
        TOOL.parse({"command": "echo $0 ${BASH_VERSION:+bash}"}), with_environment(work, SHELL=shell)
    )
    assert json.loads(result.content)["output"] == f"{BASH.path} bash\n"
    assert "in bash" in TOOL.description


async def test_nothing_runs_in_the_shell_before_or_beside_the_command(work: Workspace) -> None:
    evil = work.write("evil.sh", "echo evil\n")
    steering = {
        "BASH_ENV": str(evil), "ENV": str(evil), "BASH_FUNC_ls%%": "() { echo evil; }", "BASH_FUNC_echo()": "() { :; }",
        "SHELLOPTS": "xtrace", "BASHOPTS": "extglob", "PS4": "$(echo evil)", "PROMPT_COMMAND": "echo evil",
        "old": "() { :; }",
    }  # fmt: skip
    command = "set -x; ls -d . 2>&1; shopt extglob; env | grep -c evil"
    result = await TOOL.run(TOOL.parse({"command": command}), with_environment(work, **steering))
    printed = json.loads(result.content)["output"]
    assert "\nextglob        \toff\n" in printed
    assert printed.endswith("\n0\n")
    assert printed.startswith("+ ls -d .\n")
    for name in ("BASH_ENV", "SHELLOPTS", "BASH_FUNC_ls%%", "PS4"):
        with pytest.raises(ToolError, match="steers the shell"):
            await run(work, "ls", env={name: "x"})


def test_no_start_file_is_read_for_a_command_with_a_socket_for_its_input(tmp_path: Path) -> None:
    """Bash then assumes a remote login, and reads `~/.bashrc`."""
    (tmp_path / ".bashrc").write_text("echo evil\n")
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert subprocess.check_output(BASH.argv("echo fine"), stdin=theirs.fileno(), env=environ) == b"fine\n"


@pytest.mark.parametrize("line", ["-x; echo fine", "+x; echo fine", "--version; echo fine", "-s; echo fine"])
def test_a_line_that_begins_like_an_option_is_still_a_line(line: str) -> None:
    for shell in (BASH, Shell("/bin/sh", "sh")):
        printed = subprocess.check_output(shell.argv(line), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert printed == b"fine\n", shell


def test_without_bash_a_plain_sh_is_taken_and_without_that_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell_module, "PLACES", (str(tmp_path),))
    environ = {"PATH": str(tmp_path)}
    assert find_shell(environ, tmp_path / "work") is None
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sh").symlink_to("/bin/sh")
    monkeypatch.setattr(shell_module, "PLACES", (str(tmp_path / "bin"),))
    assert find_shell(environ, tmp_path / "work") == Shell(f"{tmp_path}/bin/sh", "sh")
    assert find_shell({"PATH": str(tmp_path / "bin")}, tmp_path) == Shell(f"{tmp_path}/bin/sh", "sh")
    monkeypatch.setattr(shell_module, "PLACES", ())
    assert find_shell({"PATH": str(tmp_path / "bin")}, tmp_path) is None, "never one of the workspace"


async def test_without_any_shell_the_answer_says_so(work: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_module, "PLACES", ())
    with pytest.raises(ToolError, match="No shell is installed"):
        await TOOL.run(TOOL.parse({"command": "true"}), with_environment(work, PATH="/nowhere"))


async def test_a_command_that_cannot_be_started_is_an_error(work: Workspace) -> None:
    with pytest.raises(ToolError, match="could not be started: Argument list too long"):
        await run(work, f": {'x' * 3_000_000}")


# --- timeouts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "asked", "expected"),
    [
        (RunTerminalCmd(), None, 120.0),
        (RunTerminalCmd(), 600, 600.0),
        (RunTerminalCmd(30), None, 30.0),
        (RunTerminalCmd(30), 5, 5.0),
        (RunTerminalCmd(longest_s=lambda: 1.5), None, 1.5),
        (RunTerminalCmd(longest_s=lambda: 1.5), 10, 1.5),
        (RunTerminalCmd(longest_s=lambda: 300), None, 120.0),
    ],
)
async def test_the_timeout_is_the_calls_own_within_the_persons_limit(
    work: Workspace, monkeypatch: pytest.MonkeyPatch, tool: RunTerminalCmd, asked: float | None, expected: float
) -> None:  # T-93
    seen: list[object] = []
    ran = ProcessRunner.run

    async def observed(runner: ProcessRunner, *arguments: Any, **options: Any) -> ProcessOutcome:
        seen.append(options["timeout_s"])
        return await ran(runner, *arguments, **options)

    monkeypatch.setattr(ProcessRunner, "run", observed)
    await work.call(tool, command="true", timeout=asked)
    assert seen == [expected]


# --- long output ------------------------------------------------------------------------------------------------------


async def test_long_output_keeps_both_ends_and_is_kept_whole_in_a_file(work: Workspace) -> None:
    """O-06, O-07, O-10, T-90."""
    result = await run(work, "seq 100000")
    answer = json.loads(result.content)
    assert answer["output"].startswith("Total output lines: 100000\n\n1\n2\n")
    assert answer["output"].endswith("\n99999\n100000\n")
    assert "[... omitted" in answer["output"]
    assert len(answer["output"].encode()) <= 10_240
    assert answer["metadata"]["truncated"] is True
    assert SPOOL_KEY not in answer["metadata"]
    spool = Path(str(result.metadata[SPOOL_KEY]))
    assert spool.parent == work.context.spool_folder
    assert len(await asyncio.to_thread(spool.read_bytes)) == 588_895


async def test_of_endless_output_the_file_has_both_ends_and_the_answer_says_so(work: Workspace) -> None:
    """O-10: the file's size is limited, and the answer says so."""
    result = await run(work, "yes | head -c 80000000; echo end")
    answer = json.loads(result.content)
    assert answer["output"].startswith("Total output lines: 40000001\n")
    assert answer["output"].endswith("\ny\nend\n")
    assert answer["note"] == ("Of the 80,000,004 bytes of output the first 67,108,864 and the end were kept.")
    content = await asyncio.to_thread(Path(str(result.metadata[SPOOL_KEY])).read_bytes)
    assert content.endswith(b"\ny\nend\n")
    assert b"\n[... 12,825,604 bytes not kept ...]\n" in content[SPOOL_LIMIT_BYTES:]


async def test_a_file_that_cannot_be_written_does_not_make_the_command_fail(
    work: Workspace, expected_logs: list[str]
) -> None:
    expected_logs.append("could not be written")
    await asyncio.to_thread(work.context.spool_folder.write_text, "a file, not a folder")
    result = await run(work, "seq 1000; exit 3")
    assert json.loads(result.content)["metadata"]["exit_code"] == 3
    assert SPOOL_KEY not in result.metadata


async def test_short_output_leaves_no_file(work: Workspace) -> None:
    result = await run(work, "seq 100")
    assert SPOOL_KEY not in result.metadata
    assert not await asyncio.to_thread(work.context.spool_folder.exists)


async def test_any_bytes_make_valid_json(work: Workspace) -> None:
    assert await output(work, r"printf 'a\0\377\"\\\n'") == 'a\ufffd"\\\n'


# --- as a terminal shows it -------------------------------------------------------------------------------------------


async def test_people_see_colours_and_the_model_reads_plain_text(work: Workspace) -> None:
    """O-10: people can open the whole output."""
    coloured = "\x1b[31mred\x1b[0m\n10%\r100%\n"
    result = await run(work, r"printf '\033[31mred\033[0m\n10%%\r100%%\n'")
    assert json.loads(result.content)["output"] == "red\n100%\n"
    assert "".join(work.shown) == coloured
    spool = Path(str(result.metadata[SPOOL_KEY]))
    assert await asyncio.to_thread(spool.read_bytes) == coloured.encode()
    assert (await asyncio.to_thread(spool.stat)).st_mode & 0o777 == 0o600


async def test_a_command_can_have_a_terminal(work: Workspace) -> None:  # T-94
    group = f"{PYTHON} -c 'import os; print(os.tcgetpgrp(0))'"
    script = f"test -t 0 && test -t 1 && test -t 2 && stty size && echo mine > /dev/tty && {group} && echo $$"
    size, mine, foreground, own = (await output(work, script, tty=True)).split("\n")[:4]
    assert (size, mine) == ("40 120", "mine")
    assert foreground == own
    assert await output(work, "test -t 1 || echo none") == "none\n"


async def test_in_a_terminal_answers_are_typed_when_they_are_asked_for(work: Workspace) -> None:
    """The second prompt drops earlier input, as password prompts do; the program starts slowly."""
    script = f"""sleep 0.5; {PYTHON} -c '
import getpass
name = input("Name: ")
word = getpass.getpass("Password: ")
print(f"{{name}} {{word}}")
'"""
    text = await output(work, script, tty=True, stdin="me\nsecret\n")
    assert text.endswith("me secret\n")
    assert text.count("secret") == 1


async def test_in_a_terminal_nothing_waits_for_an_answer_nobody_gives(work: Workspace) -> None:
    assert await output(work, "cat; read -r x || echo none", tty=True) == "none\n"


async def test_a_terminal_passes_any_amount_of_output(work: Workspace) -> None:
    result = await run(work, "seq 100000", tty=True)
    spool = Path(str(result.metadata[SPOOL_KEY]))
    assert await asyncio.to_thread(spool.read_text) == "".join(f"{number}\n" for number in range(1, 100_001))


async def test_a_timeout_in_a_terminal_keeps_what_was_printed(work: Workspace) -> None:
    script = "trap '' HUP TERM; echo before; sleep 100; sleep 100"
    result = await timed_out_after("before\n", work, script, tty=True)
    answer = json.loads(result.content)
    assert answer["output"].endswith("s\nbefore\n")
    assert answer["metadata"]["timed_out"] is True


async def test_a_job_can_have_a_terminal_and_nobody_types_into_it(work: Workspace) -> None:
    result = await run(work, "test -t 0 && echo yes; read -r -t 1.5 x || echo $?", tty=True, is_background=True)
    job = await work.context.jobs.wait(str(result.metadata["job_id"]))
    assert await work.context.jobs.tail(job.id) == "yes\n142\n"


async def test_without_terminals_the_answer_says_so(work: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HAS_TERMINALS", False)
    with pytest.raises(ToolError, match="no terminal"):
        await run(work, "true", tty=True)


# --- what is left running ---------------------------------------------------------------------------------------------


async def test_what_a_command_leaves_running_is_ended_and_said(work: Workspace) -> None:
    answer = json.loads((await run(work, "sleep 100 & echo done")).content)
    assert answer["output"] == "done\n"
    assert "(sleep) was ended" in answer["note"]
    assert "is_background" in answer["note"]


async def test_what_a_cancelled_command_had_printed_is_kept(work: Workspace) -> None:  # Z-44
    os.mkfifo(work.root / "gate")
    kept: list[ToolResult] = []
    context = replace(work.context, keep_partial=kept.append)
    arguments = TOOL.parse({"command": "seq 20000; echo > gate; sleep 100; echo never"})
    task = asyncio.create_task(TOOL.run(arguments, context))
    await asyncio.to_thread((work.root / "gate").read_text)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    [result] = kept
    answer = json.loads(result.content)
    assert answer["output"].endswith("\n20000\n")
    assert "note" not in answer  # the command itself was ended, not something that it had left running
    spool = Path(str(result.metadata[SPOOL_KEY]))
    assert len((await asyncio.to_thread(spool.read_text)).split()) == 20_000


# --- the sandbox ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_background", [False, True])
async def test_what_runs_is_what_the_sandbox_makes_of_it(work: Workspace, *, is_background: bool) -> None:
    def confine(command: Command) -> Command:
        assert threading.current_thread() is not threading.main_thread()
        return replace(command, argv=("/usr/bin/env", "CONFINED=yes", *command.argv))

    context = replace(work.context, confine=confine)
    arguments = TOOL.parse({"command": "echo $CONFINED", "is_background": is_background})
    result = await TOOL.run(arguments, context)
    if is_background:
        job = await work.context.jobs.wait(str(result.metadata["job_id"]))
        assert await work.context.jobs.tail(job.id) == "yes\n"
    else:
        assert json.loads(result.content)["output"] == "yes\n"


async def test_a_sandbox_that_cannot_be_had_runs_nothing_and_its_failure_stays_what_it_is(work: Workspace) -> None:
    """Z-51: a fatal failure does not become a recoverable one."""

    def refuse(_: Command) -> Command:
        raise ToolError("There is no sandbox.", error_type="fatal")

    context = replace(work.context, confine=refuse)
    with pytest.raises(ToolError, match="no sandbox") as caught:
        await TOOL.run(TOOL.parse({"command": "touch made"}), context)
    assert caught.value.error_type == "fatal"
    assert not (work.root / "made").exists()


def test_a_wish_to_run_outside_the_sandbox_is_no_circumstance() -> None:  # T-94
    wish = TOOL.parse({"command": "make", "with_escalated_permissions": True, "justification": "It needs the network."})
    assert TOOL.circumstances(wish) == (), "the question itself says it, and a rule must not depend on its words"


# --- background -------------------------------------------------------------------------------------------------------


async def test_a_background_command_returns_at_once_with_its_job(work: Workspace) -> None:  # T-92
    os.mkfifo(work.root / "gate")
    result = await run(work, "echo up; read -r _ < gate; echo down; exit 5", is_background=True)
    answer = json.loads(result.content)
    assert answer["metadata"] == {
        "exit_code": 0,
        "duration_seconds": 0.0,
        "timed_out": False,
        "truncated": False,
    }
    job_id, pid, log = (result.metadata[key] for key in ("job_id", "pid", "log"))
    assert re.fullmatch(r"job-\d{8}-\d{6}-[0-9a-f]{8}", str(job_id))
    assert answer["output"].splitlines() == [
        "background command dispatched",
        f"job_id: {job_id}",
        f"pid: {pid}",
        f"stdout_log: {log}",
        f"stderr_log: {log}",
        f"hint: tail -n 50 {log}",
    ]
    await asyncio.to_thread((work.root / "gate").write_text, "go\n")
    job = await work.context.jobs.wait(str(job_id))
    assert (job.state, job.exit_code, job.command) == ("exited", 5, "echo up; read -r _ < gate; echo down; exit 5")
    assert job.ended_at is not None
    assert job.ended_at >= job.started_at
    assert await work.context.jobs.tail(job.id) == "up\ndown\n"


async def test_a_background_command_keeps_to_its_timeout(work: Workspace) -> None:  # Z-47
    result = await run(work, "sleep 100", is_background=True, timeout=0.2)
    job = await work.context.jobs.wait(str(result.metadata["job_id"]))
    assert job.state == "timed_out"


# --- arguments --------------------------------------------------------------------------------------------------------


def test_an_interactive_program_may_run_in_the_background() -> None:  # T-88
    assert TOOL.parse({"command": "top", "is_background": True})


# --- what the user is shown -----------------------------------------------------------------------------------------


def test_the_person_is_shown_the_command_and_all_that_decides_what_runs() -> None:
    arguments = TOOL.parse(
        {
            "command": "make\n  all",
            "env": {"PATH": "/tmp/x y", "A": "1"},
            "stdin": "x" * 300,
            "shell": "zsh",
            "explanation": "Build it.",
        }
    )
    assert TOOL.title(arguments) == "make"
    variables, text, shell = TOOL.circumstances(arguments)
    assert variables == "Variables: PATH='/tmp/x y' A=1"
    assert text == f"Input: {'x' * 300}"
    assert shell == "Shell: zsh"
    assert TOOL.circumstances(TOOL.parse({"command": "make"})) == ()
    assert TOOL.circumstances(TOOL.parse({"command": "make", "is_background": True})) == (
        "Runs in the background until it ends or is stopped.",
    )


def test_a_person_sees_all_that_a_command_reads_before_they_allow_it() -> None:
    script = "# harmless\n" * 100 + "rm -rf ~\n"
    [text] = TOOL.circumstances(TOOL.parse({"command": "sh", "stdin": script}))
    assert text == f"Input: {script}"


@pytest.mark.parametrize("length", [300, 100_000])
def test_what_is_too_long_to_show_is_still_another_command_when_it_differs(length: int) -> None:
    """An allowed command is recognised by these lines, so their hidden part must not be free to change."""
    one, other = ("x" * length + mark + "x" * length for mark in ("A", "B"))
    for name in ("stdin", "env"):
        first, second = (
            TOOL.circumstances(TOOL.parse({"command": "sh", name: {"V": text} if name == "env" else text}))
            for text in (one, other)
        )
        assert first != second
        assert len(first[0]) < 4_200


def test_an_edited_command_keeps_everything_else() -> None:
    arguments = TOOL.parse({"command": "make", "env": {"A": "1"}, "timeout": 5})
    edited = TOOL.with_command(arguments, "make test")
    assert (edited.command, edited.env, edited.timeout) == ("make test", {"A": "1"}, 5)
    with pytest.raises(ToolError, match="command must contain text"):
        TOOL.with_command(arguments, " ")
