"""`run --input-format stream --stream`: another program is the front end, over two pipes."""

import json
import os
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.command_line import PROGRAM
from tests.e2e.run.agent import AFTER, BEFORE, script
from tests.servers import fault
from tests.servers.script import reply, text
from tests.servers.threaded import serve
from tests.system_processes import running_with

Fields = dict[str, Any]


class Program:
    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.heard: list[Fields] = []

    def write(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode(errors="surrogateescape"))
        self.process.stdin.flush()

    def send(self, **op: object) -> None:
        self.write(json.dumps(op))

    def hear(self, kind: str) -> Fields:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.heard.append(json.loads(line))
            if self.heard[-1]["type"] == kind:
                return self.heard[-1]
        raise AssertionError(f"{kind} never came, but {[event['type'] for event in self.heard]}")

    def end(self) -> tuple[int, str]:
        """Close the input; return the exit code and standard error."""
        out, err = self.process.communicate(timeout=60)
        self.heard += [json.loads(line) for line in out.splitlines()]
        return self.process.returncode, err.decode()

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.heard]


@contextmanager
def program(workspace: Path, url: str, *more: str) -> Generator[Program]:
    command = [*PROGRAM, "run", "--input-format", "stream", "--stream",
               "--workspace", str(workspace), "--base-url", url, *more]  # fmt: skip
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ)
    )
    try:
        yield Program(process)
    finally:
        process.kill()
        process.communicate()


def workers_of(pid: int) -> list[psutil.Process]:
    return running_with("desktop_agent.core.providers.sdk_worker", psutil.Process(pid).children(recursive=True))


@pytest.mark.parametrize(("provider", "count"), [("bedrock", 1), ("anthropic", 0)])
def test_the_process_of_the_sdk_starts_before_the_first_prompt_and_only_if_it_is_needed(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, provider: str, count: int
) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    with program(workspace, "http://127.0.0.1:9", "--provider", provider) as other:
        other.hear("session_opened")
        pause = threading.Event()
        while len(workers := workers_of(other.process.pid)) < count:  # it is being started
            pause.wait(0.01)
        assert len(workers) == count
        other.end()
        assert psutil.wait_procs(workers, timeout=20)[1] == []


def test_a_program_prompts_steers_and_answers_what_the_turn_asks(workspace: Path) -> None:
    with serve(*script()) as server, program(workspace, server.url) as other:
        other.send(type="submit_prompt", text="make it two")
        asked = other.hear("approval_requested")["request"]
        assert asked["tool"] == "edit_file"
        other.send(type="steer", text="and nothing else")
        assert other.hear("queued")["is_steering"]
        other.send(type="answer_approval", call_id=asked["call_id"], decision={"outcome": "allowed"})
        assert other.hear("steered")["turn"] == 1
        other.hear("turn_ended")
        assert other.end() == (0, "")
        assert other.types.count("prompt_submitted") == 1
    assert (workspace / "a.py").read_bytes() == AFTER


def test_what_was_asked_for_is_done_although_the_input_has_ended(workspace: Path) -> None:
    with serve(reply(text("One.")), reply(text("Two."))) as server, program(workspace, server.url) as other:
        other.send(type="submit_prompt", text="first")
        other.send(type="submit_prompt", text="second")
        code, _ = other.end()
    assert code == 0
    assert other.types.count("turn_ended") == 2
    assert "queued" in other.types


def test_a_program_interrupts_a_turn_and_goes_on(workspace: Path) -> None:
    answers = reply(text("Half an answer"), fault.stall_after(events=3)), reply(text("All of it."))
    with serve(*answers) as server, program(workspace, server.url) as other:
        other.send(type="submit_prompt", text="go")
        other.hear("text_delta")
        other.send(type="interrupt")
        assert other.hear("turn_ended")["reason"] == "interrupted"
        other.send(type="submit_prompt", text="again")
        assert other.hear("turn_ended")["reason"] == "completed"
        assert other.end()[0] == 0


def test_what_is_asked_after_the_input_has_ended_has_no_answer(workspace: Path) -> None:
    with serve(*script()) as server, program(workspace, server.url) as other:
        other.send(type="submit_prompt", text="make it two")
        code, err = other.end()
    assert code == 3
    assert "The input had ended, so no program could answer" in err
    assert (workspace / "a.py").read_bytes() == BEFORE


BAD_LINES = {
    "nonsense": "no JSON",
    "[]": "an op is a JSON object",
    '{"type": "submit_prompt", "text": "x", "tone": "kind"}': "has no field 'tone'",
    "[" * 100_000: "",
    '{"type": "\udcff"}': "",
}


def test_a_line_that_is_no_op_is_named_and_the_rest_goes_on(workspace: Path) -> None:
    with serve(reply(text("Fine."))) as server, program(workspace, server.url) as other:
        for line in BAD_LINES:
            other.write(line)
        other.send(type="submit_prompt", text="go")
        for number, why in enumerate(BAD_LINES.values(), start=1):
            rejected = other.hear("op_rejected")
            assert (rejected["line"], why in rejected["reason"]) == (number, True), rejected
        other.hear("turn_ended")
        assert other.end()[0] == 0


def test_input_that_asks_for_nothing_is_bad_usage(workspace: Path) -> None:
    with serve() as server, program(workspace, server.url) as other:
        code, err = other.end()
    assert code == 2
    assert "No turn was run." in err
