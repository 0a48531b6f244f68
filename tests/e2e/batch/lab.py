"""A batch as its own process, with folders and results."""

import json
import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from tests.command_line import PROGRAM
from tests.system_processes import processes_with

DEMO = Path(__file__).parents[3] / "resources" / "demo" / "pagination"
PROMPT = "One of the tests fails. Fix it."


class Lab:
    def __init__(self, folder: Path) -> None:
        self.tasks = folder / "tasks.jsonl"
        self.results = folder / "results.jsonl"
        self.environ = {**os.environ, "DESKTOP_AGENT_HOME": str(folder / "home"), "BATCH_LAB": str(folder)}

    def write(self, tasks: Sequence[dict[str, Any]]) -> None:
        self.tasks.write_text("".join(f"{json.dumps(task)}\n" for task in tasks), encoding="utf-8")

    def write_demo(self, count: int) -> None:
        self.write([task(f"t{number}", DEMO) for number in range(count)])

    def start(self, *more: str) -> "subprocess.Popen[str]":
        command = [*PROGRAM, "batch", str(self.tasks), "--output", str(self.results)]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*command, *more], env=self.environ, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True
        )

    def run(self, *more: str) -> tuple[int, str, str]:
        """Run a batch to its end; return its exit code, standard output and standard error."""
        with self.start(*more) as process:
            out, err = process.communicate(timeout=300)
        return process.returncode, out, err

    @property
    def outcomes(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.results.read_text(encoding="utf-8").splitlines()]

    def left(self) -> list[str]:
        """All processes that remain of the lab's batches, after a moment for them to end."""
        started: list[psutil.Process] = []
        for pid in processes_with("BATCH_LAB", self.environ["BATCH_LAB"]):
            with suppress(psutil.NoSuchProcess):
                started.append(psutil.Process(pid))
        return [str(process) for process in psutil.wait_procs(started, timeout=30)[1]]


def task(name: str, workspace: Path, **options: object) -> dict[str, Any]:
    given = {"provider": "demo", "approval": "on_request", **options}
    return {"id": name, "workspace": str(workspace), "prompt": PROMPT, "options": given}
