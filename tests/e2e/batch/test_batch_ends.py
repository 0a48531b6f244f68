"""`desktop-agent batch` ends by signals, a closed pipe, or its budget. No process is left."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from desktop_agent.headless.batch.tasks import TaskOutcome
from tests.command_line import PROGRAM
from tests.e2e.batch.conftest import BatchHere
from tests.e2e.batch.lab import DEMO, Lab, task


def test_signals_stop_what_runs_and_a_task_without_a_result_runs_again(
    lab: Lab, batch: BatchHere, tmp_path: Path
) -> None:
    pipe = tmp_path / "asked"
    os.mkfifo(pipe)
    asks = f"sh -c 'echo asked > {pipe}; exec sleep 300'"
    lab.write([task("slow", DEMO, **{"approval": "always", "allowed-tools": "list_files", "approval-command": asks})])
    for how in (signal.SIGINT, signal.SIGTERM):
        with lab.start() as process:
            assert "asked" in pipe.read_text(encoding="utf-8")
            process.send_signal(how)
            out, err = process.communicate()
        assert process.returncode == 130
        assert "0 of 1 tasks done, interrupted" in out
        assert "Traceback" not in err
        assert lab.left() == []
        assert list((tmp_path / "home" / "cache" / "batch").iterdir()) == []
    lab.write([task("slow", DEMO)])
    assert batch().code == 0
    assert [outcome["id"] for outcome in lab.outcomes] == ["slow"]


def test_a_reader_that_goes_ends_the_batch_quietly(lab: Lab) -> None:
    lab.write_demo(4)
    argv = [*PROGRAM, "batch", str(lab.tasks), "--workers", "1"]
    with subprocess.Popen(argv, env=lab.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["id"] == "t0"
        process.stdout.close()
        err = process.stderr.read()
        assert process.wait() == 1
    assert b"error" not in err.lower()
    assert b"Traceback" not in err
    assert lab.left() == []


@pytest.mark.parametrize(
    "closed", [">&- 2>&-", *(pytest.param(one, marks=pytest.mark.nightly) for one in (">&-", "2>&-"))]
)
def test_without_standard_output_or_error_a_batch_writes_its_results(lab: Lab, closed: str) -> None:
    lab.write_demo(1)
    script = f'exec "$@" {closed}'
    argv = [*PROGRAM, "batch", str(lab.tasks), "--output", str(lab.results)]
    with subprocess.Popen(
        ["sh", "-c", script, "sh", *argv], env=lab.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        _, err = process.communicate()
    assert b"Traceback" not in err
    assert [outcome["exit_code"] for outcome in lab.outcomes] == [0]
    assert process.returncode == 0
    assert lab.left() == []


def test_a_batch_that_has_cost_too_much_starts_no_task(lab: Lab, batch: BatchHere) -> None:
    lab.write_demo(2)
    spent = TaskOutcome(id="t0", exit_code=0, stopped_reason="completed", cost=2.5)
    lab.results.write_text(f"{spent.line()}\n", encoding="utf-8")
    ran = batch("--max-cost", "2")
    assert ran.code == 4
    assert "1 of 2 tasks done, 1 of them before, $2.50, stopped by --max-cost" in ran.out
    assert len(lab.outcomes) == 1
