"""How much longer a call takes when language servers check what it changed.

A turn edits a Python file of 300 lines twenty times: without servers, with `ruff server`, and with basedpyright, too.
The servers run when the measured edits begin. The limit is `diagnostics.wait_seconds` on top of an edit without them.

Run: `pytest tests/benchmarks/bench_diagnostics.py`.
"""

import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ModelRequest
from desktop_agent.core.providers.scripted import Reply, Say
from desktop_agent.core.session.spending import TurnLimits
from desktop_agent.core.settings.sections import DiagnosticsSettings, Settings
from tests.core.diagnostics.scene import WAIT, create, edit, told_in
from tests.harness import Ground

EDITS = 20
BODY = "".join(f"def number_{n}() -> int:\n    return {n}\n\n\n" for n in range(75))
ALL_OFF = ("basedpyright", "pyright", "ruff")


async def times(folder: Path, off: Sequence[str], wanted: int) -> list[float]:
    """Return how long each edit took from the model's message to the result; `wanted` servers must have answered."""
    ground = Ground(folder)
    ground.settings = Settings(diagnostics=DiagnosticsSettings(off=tuple(off), enabled=bool(wanted)))
    made = 0

    def script(request: ModelRequest) -> Reply:
        nonlocal made
        if not made:
            made = 1
            return [create("a.py", f"{BODY}unknown_0\n")]
        if "".join(told_in(request)).count("unknown_0") < wanted:
            return [WAIT]
        if made > EDITS:
            return [Say("Done.")]
        made += 1
        return [edit("a.py", f"unknown_{made - 2}\n", f"unknown_{made - 1}\n")]

    taken: list[float] = []
    clock = SystemClock()
    async with ground.session(script, approval="never", limits=TurnLimits(max_requests=800)) as s:
        begun = 0.0

        def note(event: ev.Event) -> None:
            nonlocal begun
            if isinstance(event, ev.ToolCallStarted) and event.call.name == "edit_file":
                begun = clock.monotonic()
            elif isinstance(event, ev.ToolCallFinished) and begun:
                taken.append(clock.monotonic() - begun)
                begun = 0.0

        s.rx.at_once = note
        await s.prompt()
    assert len(taken) == EDITS
    return taken


async def test_a_call_with_diagnostics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}")
    rows = {
        "without servers": await times(tmp_path / "none", ALL_OFF, 0),
        "ruff": await times(tmp_path / "ruff", ("basedpyright", "pyright"), 1),
        "ruff and basedpyright": await times(tmp_path / "both", (), 2),
    }
    print()
    for name, taken in rows.items():
        print(f"{name:24} {1_000 * statistics.median(taken):7.0f} ms median {1_000 * max(taken):7.0f} ms at most")
    most = max(rows["without servers"]) + DiagnosticsSettings().wait_seconds
    assert statistics.median(rows["ruff and basedpyright"]) < most
