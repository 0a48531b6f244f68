"""Plays one attack on git as another user: `python -m tests.attacks.git.scene CASE_JSON`.

That user owns the workspace and runs git and the sandbox. The output is a JSON list of failures in words. It is a
program of its own because it becomes another user.
"""

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from desktop_agent.core.sandbox.find import every_sandbox
from desktop_agent.core.system.git.git_process import query_status
from desktop_agent.core.system.git.repository import RepoStatus
from tests.attacks.git.conftest import DEEP, EMPTY, OWN, make_ground
from tests.attacks.git.hostile import LAYOUTS, VECTORS, bare_plain
from tests.attacks.git.test_confined import KEPT, PLANTED, everything_in, run_confined
from tests.attacks.git.test_our_git import look_after_commands, look_at_files
from tests.attacks.sandbox.scene import NO_SANDBOX, NOBODY, become_nobody


@dataclass(frozen=True, slots=True)
class Case:
    """An attack on the application's git (`sandbox` is empty), or on a command in a sandbox."""

    attack: str
    """A vector, or a name in `KEPT` or `PLANTED`."""
    layout: str = ""
    sandbox: str = ""

    @property
    def name(self) -> str:
        return f"{self.sandbox or self.layout}-{self.attack}"


async def play(case: Case, base: Path) -> list[str]:
    """Play one attack in an empty folder; return the failures in words."""
    return await (_play_confined(case, base) if case.sandbox else _play_our_git(case, base))


async def _play_our_git(case: Case, base: Path) -> list[str]:
    [vector] = [one for one in VECTORS if one.name == case.attack]
    [layout] = [one for one in LAYOUTS if one.__name__ == case.layout]
    armed = layout(base, vector)
    status = await query_status(armed.folder)
    if not isinstance(status, RepoStatus) and layout is not bare_plain:
        return [f"git did not answer, so it proves nothing: {status}"]
    await look_at_files(armed)
    await look_after_commands(armed, base)
    return armed.ran.splitlines()


async def _play_confined(case: Case, base: Path) -> list[str]:
    sandbox = next((one for one in every_sandbox(os.environ) if one.name == case.sandbox), None)
    if sandbox is None:
        sys.exit(NO_SANDBOX)
    ground = make_ground(base, sandbox)
    if case.attack in PLANTED:
        command, place = PLANTED[case.attack]
        seen = await run_confined(ground, command)
        if not (ground.workspace / place).exists():
            return ["the command did not run"]
        return [] if place in seen.told and place in seen.content else [f"{place} is not reported: {seen}"]
    places = [ground.workspace / place for place in (DEEP, EMPTY, OWN)]
    before = [everything_in(place) for place in places]
    seen = await run_confined(ground, f"echo ran > src/ran; {KEPT[case.attack]}")
    if not (ground.workspace / "src" / "ran").exists():
        return [f"the command did not run: {seen}"]
    return [str(place) for place, was in zip(places, before, strict=True) if everything_in(place) != was]


def main() -> None:
    case = Case(**json.loads(sys.argv[1]))
    signal.alarm(120)
    become_nobody()
    base = Path(tempfile.mkdtemp(prefix="attack-", dir="/var/tmp")).resolve()
    os.environ |= {"HOME": str(base / "home"), "DESKTOP_AGENT_HOME": str(base / "agent")}
    (base / "home").mkdir()
    (base / "play").mkdir()
    try:
        assert base.stat().st_uid == NOBODY
        print(json.dumps(asyncio.run(play(case, base / "play"))))  # noqa: TID251 - the entry point of a process
    finally:
        os.chdir("/")
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
