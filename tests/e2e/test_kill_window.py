"""Kill the real window at random moments: every start is ready, no prompt is lost, every journal is whole."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from queue import Empty, Queue

import pytest

from desktop_agent.cli import main
from tests.e2e.driver import ask_for_no_titles
from tests.servers.script import Reply, reply, text, thinking, tool_use
from tests.servers.threaded import serve

KILLS = 2
LONGEST_LIFE_S = 8.0
UNFINISHED = {"unfinished", "missing_result"}
"""Findings of `sessions verify` in an interrupted turn. The next start ends it."""
PATIENCE_S = 120
"""For a start. Long, as only failing tests wait for it."""


def answers(count: int) -> list[Reply]:
    found: list[Reply] = []
    for number in range(count):
        found += [
            reply(
                thinking("Where to begin?", signature="sig"),
                text("Looking around. " * 20),
                tool_use("create_file", path=f"new/{number}.txt", content=f"{number}\n" * 2000),
            ).paced(0.01),
            reply(tool_use("run_terminal_cmd", command=f"echo {number} >> log.txt; rm -f new/{number - 1}.txt")),
            reply(text("All done. " * 20)).paced(0.01),
        ]
    return found


class Window:
    def __init__(self, number: int, album: Path, arguments: list[str]) -> None:
        self.typed: list[str] = []
        self._lines: Queue[str] = Queue()
        command = [sys.executable, "-m", "tests.e2e.window_kill_lab", str(number), str(album), *arguments]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.strip())

    def wait_until_ready(self) -> None:
        """Raise `Empty` after a timeout."""
        assert self._lines.get(timeout=PATIENCE_S) == "ready"

    def live(self, seconds: float) -> None:
        with pytest.raises(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def quits(self) -> bool:
        self.wait_until_ready()
        code = self._process.wait(PATIENCE_S)
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
        return code == 0

    def kill(self) -> list[str]:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
        said: list[str] = []
        while True:
            try:
                said.append(self._lines.get_nowait())
            except Empty:
                return [line.removeprefix("typed ") for line in said if line.startswith("typed ")]


def is_on_disk(prompt: str, data: Path) -> bool:
    kept = [path for folder in ("sessions", "drafts") for path in (data / folder).rglob("*.json*") if path.is_file()]
    return any(prompt.encode() in path.read_bytes() for path in kept)


@pytest.mark.realwindow
def test_a_killed_window_starts_again_with_every_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, is_nightly: bool
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-000000000000")
    ask_for_no_titles()
    data = Path(os.environ["DESKTOP_AGENT_HOME"]) / "data"
    workspace = tmp_path / "shop"
    workspace.mkdir()
    rng = random.Random(20261123)
    kills = 60 if is_nightly else KILLS
    typed: list[str] = []
    with serve(*answers(kills * 30)) as server:
        for number in range(kills):
            # The first start opens a folder; the others resume where the last one was killed.
            where = [] if number else [str(workspace)]
            window = Window(number, tmp_path / "album", [*where, "--base-url", server.url])
            try:
                window.wait_until_ready()
                window.live(rng.uniform(0.0, LONGEST_LIFE_S))
            finally:
                typed += window.kill()
            assert [prompt for prompt in typed if not is_on_disk(prompt, data)] == []
            assert problems(capsys) <= UNFINISHED
        last = Window(-1, tmp_path / "album", ["--base-url", server.url])
        assert last.quits()
    assert problems(capsys) == set()
    assert server.messages, "a turn has streamed"
    assert [prompt for prompt in typed if not is_on_disk(prompt, data)] == []
    with capsys.disabled():
        print(f"\n{kills} kills, {len(typed)} prompts typed, {len(server.messages)} requests; records: {records(data)}")


def records(data: Path) -> dict[str, int]:
    journals = (data / "sessions").glob("*/journal.jsonl")
    return Counter(json.loads(line)["type"] for path in journals for line in path.read_bytes().splitlines())


def problems(capsys: pytest.CaptureFixture[str]) -> set[str]:
    code = main(["sessions", "verify", "--json"])
    sessions = json.loads(capsys.readouterr().out)["sessions"]
    found = {finding["code"] for session in sessions for finding in session["findings"]}
    assert code == (1 if found else 0)
    return found
