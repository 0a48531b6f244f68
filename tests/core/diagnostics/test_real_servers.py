"""Language servers that others wrote: basedpyright and ruff, in the sandbox, as they are installed for the tests."""

import os
import sys
from pathlib import Path

import pytest

from desktop_agent.core.protocol.model import ModelRequest
from desktop_agent.core.providers.scripted import Reply, Say
from desktop_agent.core.session.spending import TurnLimits
from tests.core.diagnostics.scene import PATIENT, WAIT, create, edit, found, told_in
from tests.harness import Ground

pytestmark = pytest.mark.nightly


@pytest.fixture(autouse=True)
def with_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}")


async def test_both_tell_what_is_new_in_two_files_that_belong_together(ground: Ground) -> None:
    ground.settings = PATIENT
    ground.write("pages.py", "def count(items: list[str]) -> int:\n    return len(items)\n")
    steps: list[Reply] = [
        [create("use.py", "from pages import count\n\nprint(count(['a']) + undefined_one)\n")],
        [edit("pages.py", "-> int:\n    return len(items)", "-> str:\n    return undefined_two")],
        [edit("use.py", "undefined_one", "1")],
    ]
    needed = iter((0, 2, 4))
    wanted = next(needed)

    def script(request: ModelRequest) -> Reply:
        nonlocal wanted
        told = "".join(told_in(request))
        if steps and sum(told.count(name) for name in ('"undefined_', "`undefined_")) >= wanted:
            wanted = next(needed, 0)
            return steps.pop(0)
        return [WAIT] if steps else [Say("Done.")]

    async with ground.session(script, approval="never", limits=TurnLimits(max_requests=600)) as s:
        await s.prompt()
        results = [each for each in told_in(s.last_request) if each]
    first, last = "".join(results[:2]), results[-1]
    assert "use.py:3: error" in first
    assert "(basedpyright)" in first
    assert "(ruff)" in first
    assert "use.py:3: error" in last, "the type of `count` changed before this edit"
    assert "undefined" not in last
    assert all(each.line > 0 for each in found(s))
