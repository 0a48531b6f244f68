"""A session of 2,000 entries in an editor: `session/load`, until the last update and the answer have come.

The yardstick reads the same journal, and what the editor gets, with `json`. Both in processor time, the program in a
process of its own.
"""

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from desktop_agent.core.base.paths import AppPaths
from tests.benchmarks.big_sessions import SMALLER, Shape, write_session
from tests.journals import SESSION_ID

RECORDS = 5_000
"""They make 2,250 entries."""
MOST = 6.0
MOST_MEGABYTES = 30.0
COMMAND = [sys.executable, "-m", "desktop_agent", "acp", "--provider", "demo"]


class _Client:
    def __init__(self) -> None:
        self._program = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._process = psutil.Process(self._program.pid)
        self._number = 0

    def ask(self, method: str, **params: Any) -> list[bytes]:
        """Return the lines that come, with the answer as the last."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._program.stdin.write(json.dumps(message).encode() + b"\n")
        self._program.stdin.flush()
        lines = list[bytes]()
        for line in self._program.stdout:
            lines.append(line)
            if line.startswith(b'{"jsonrpc":"2.0","id":'):
                return lines
        raise EOFError

    def worked_s(self) -> float:
        return sum(self._process.cpu_times()[:2])

    def most_megabytes(self) -> float:
        return self._process.memory_info().rss / 1e6

    def close(self) -> None:
        self._program.communicate()


def test_a_long_session_is_loaded_into_an_editor(window_home: AppPaths, tmp_path: Path, is_nightly: bool) -> None:
    place: dict[str, Any] = {"cwd": str(tmp_path / "workspace"), "mcpServers": []}
    journal = write_session(window_home, Shape(RECORDS, SMALLER.result_bytes), tmp_path / "workspace")
    loads, yards, waits, grown = list[float](), list[float](), list[float](), list[float]()
    lines = list[bytes]()
    for _ in range(7 if is_nightly else 3):
        client = _Client()
        client.ask("initialize", protocolVersion=1, clientCapabilities={})
        client.ask("session/new", **place)
        before, worked_s, begun = client.most_megabytes(), client.worked_s(), time.perf_counter()
        lines = client.ask("session/load", sessionId=SESSION_ID, **place)
        waits.append(time.perf_counter() - begun)
        loads.append(client.worked_s() - worked_s)
        grown.append(client.most_megabytes() - before)
        client.close()
        begun = time.process_time()
        with journal.open("rb") as file:
            for line in (*file, *lines):
                json.loads(line)
        yards.append(time.process_time() - begun)
    load, yard = statistics.median(loads), statistics.median(yards)
    print(
        f"{journal.stat().st_size / 1e6:.0f} MB, {len(lines):,} messages of {sum(map(len, lines)) / 1e6:.0f} MB: json"
        f" {yard * 1_000:.0f} ms | loaded {load * 1_000:.0f} ms, ratio {load / yard:.1f} (limit {MOST}),"
        f" {min(waits) * 1_000:.0f} ms by the clock | {max(grown):.0f} MB more (limit {MOST_MEGABYTES:.0f})"
    )
    assert load / yard <= MOST
    assert max(grown) <= MOST_MEGABYTES
