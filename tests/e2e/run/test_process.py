"""The process of a run: its outputs, its imports, and its end by a signal."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import PROGRAM
from tests.e2e.run.agent import Agent, script
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import serve


def test_the_logs_get_one_json_line_for_each_call_and_change(agent: Agent, workspace: Path, tmp_path: Path) -> None:
    audit, changes, debug = (tmp_path / "logs" / name for name in ("audit", "changes", "debug"))
    with serve(*script()) as server:
        agent.run(
            workspace, server.url, "--approval", "never", "--audit-log", str(audit), "--changes-log", str(changes),
            "--debug-tool-use", "--tool-debug-log", str(debug),
        )  # fmt: skip
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [line["tool"] for line in lines] == ["read_file", "edit_file"]
    assert [json.loads(line)["path"] for line in changes.read_text().splitlines()] == ["a.py"]
    assert debug.read_text() == audit.read_text()


def test_the_stream_is_one_event_a_line_and_ends_with_the_turn(agent: Agent, workspace: Path) -> None:
    with serve(reply(text("Hello there."))) as server:
        ran = agent("run", "--prompt", "x", "--workspace", workspace, "--base-url", server.url, "--stream")
    events = [json.loads(line) for line in ran.out.splitlines()]
    assert events[0]["type"] == "session_opened"
    assert events[-1]["type"] == "turn_ended"
    assert "".join(event["text"] for event in events if event["type"] == "text_delta") == "Hello there."


def test_headless_commands_never_import_qt(workspace: Path) -> None:
    program = (
        "import sys; from desktop_agent.cli import main; "
        f"main(['run', '--provider', 'demo', '--prompt', 'x', '--workspace', {str(workspace)!r}]); "
        "sys.exit(any(name.startswith(('PySide6', 'qasync')) for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)  # noqa: TID251 - own process
    assert done.returncode == 0, done.stderr.decode()


def test_a_folder_and_a_prompt_that_are_not_utf8_work_like_any_other(
    agent: Agent, workspace: Path, tmp_path: Path
) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    workspace.rename(os.fsdecode(folder))

    def desktop_agent(*arguments: str | bytes) -> bytes:
        command = [*PROGRAM, *arguments]
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: TID251 - bytes, as a shell gives them
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr.decode()
        return done.stdout

    ran = desktop_agent(
        "run", "--provider", "demo", "--workspace", folder, "--prompt", b"caf\xe9", "--json", "--blocked-tools",
        "run_terminal_cmd",
    )  # fmt: skip
    session = json.loads(ran)["session_id"]
    [listed] = agent("sessions", "list", "--json").json["sessions"]
    spelled = '"' + os.fsdecode(folder.replace(b"\xe9", rb"\351")) + '"'
    assert (listed["workspace"], listed["title"]) == (spelled, r"caf\351")
    assert agent("sessions", "list", "--json", "--workspace", spelled).json["sessions"] == [listed]
    for arguments in (("list",), ("show", session), ("show", session, "--json")):
        assert rb"caf\351" in desktop_agent("sessions", *arguments).replace(rb"\\", b"\\")


def test_what_a_model_says_never_steers_the_terminal(agent: Agent, workspace: Path) -> None:
    clear = "\x1b[2J\x1b]0;title\x07"
    with serve(reply(text(f"Hi {clear}there\tyou.\n"))) as server:
        ran = agent("run", "--prompt", f"x{clear}", "--workspace", workspace, "--base-url", server.url)
    [session] = agent("sessions", "list", "--json").json["sessions"]
    for shown in (ran.out, agent("sessions", "list").out, agent("sessions", "show", session["id"]).out):
        assert "x\\x1b[2J" in shown or shown == ran.out
        assert "\x1b" not in shown + ran.err
        assert "\x07" not in shown
    assert "Hi \\x1b[2J\\x1b]0;title\\x07there\tyou.\n" in ran.out


@pytest.mark.parametrize("shown", ["--stream", "--verbose"])
def test_a_run_whose_reader_has_gone_stops_quietly(workspace: Path, tmp_path: Path, shown: str) -> None:
    looks = (reply(tool_use("read_file", path="a.py")) for _ in range(3))
    with serve(*looks, reply(text("Done."))) as server:
        command = [*PROGRAM, "run", "--prompt", "x", "--base-url", server.url, shown]
        reading, writing = os.pipe()
        words = tmp_path / "words"
        with words.open("wb") as errors:
            out, err = (writing, errors) if shown == "--stream" else (errors, writing)
            process = subprocess.Popen([*command, "--workspace", str(workspace)], stdout=out, stderr=err)
        os.close(writing)
        os.read(reading, 1)
        os.close(reading)
        assert process.wait(timeout=60) == 1
    assert words.read_bytes() == b""


def test_a_run_without_standard_error_gives_its_result(workspace: Path) -> None:
    with serve(reply(text("Hello."))) as server:
        shell = f"exec {shlex.join(PROGRAM)} run --prompt x --base-url {server.url} --verbose 2>&-"
        said = subprocess.check_output(shell, shell=True, cwd=workspace, timeout=60)
    assert said.startswith(b"Hello.")
