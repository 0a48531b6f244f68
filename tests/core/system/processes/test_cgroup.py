"""Real cgroups around commands. Skips where the kernel gives none."""

import asyncio
import os
import secrets
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.system.processes.cgroup import CommandGroups, CommandLimits
from desktop_agent.core.system.processes.process_tree import Guard
from desktop_agent.core.system.processes.runner import Command, ProcessOutcome, ProcessRunner
from tests.core.stubborn import survivors

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="cgroups are Linux'")

MIB = 2**20
LIMITS = CommandLimits(max_processes=20, max_memory_bytes=64 * MIB)
SHED = "env -i setsid bash -c '(exec -a {mark} sleep 300) > /dev/null 2>&1 < /dev/null & disown'; exec sleep {rest}"
"""Leaves an orphan in a session of its own, without the identifying environment."""


@pytest.fixture
def groups() -> Iterator[CommandGroups]:
    groups = CommandGroups.open(secrets.token_hex(4))
    if groups is None:
        pytest.skip("no cgroup can be made here")
    yield groups
    groups.close()
    assert not groups.folder.exists()


@pytest.fixture
def mark() -> Iterator[str]:
    mark = f"mark-{secrets.token_hex(8)}"
    yield mark
    for pid in survivors(mark):
        with suppress(ProcessLookupError):
            os.kill(pid, 9)


async def _run(script: str, *, timeout_s: float | None = None) -> ProcessOutcome:
    command = Command(argv=("/bin/bash", "-c", script), cwd=Path("/"), environ={"PATH": os.defpath})
    runner = ProcessRunner(SystemClock(), limits=lambda: LIMITS)
    try:
        async with asyncio.timeout(30):
            return await runner.run(command, timeout_s=timeout_s)
    finally:
        await runner.aclose()


def _require(groups: CommandGroups, controller: str) -> None:
    if controller not in groups.controllers:
        pytest.skip(f"the kernel's controller {controller} is not delegated here")


@pytest.mark.usefixtures("groups")
@pytest.mark.parametrize("rest", [0, 300], ids=["with_the_application", "with_its_command"])
async def test_what_shed_its_parent_session_and_environment_is_ended(mark: str, rest: int) -> None:
    await _run(SHED.format(mark=mark, rest=rest), timeout_s=1.0)
    assert survivors(mark) == []


async def test_the_guard_ends_what_is_in_a_cgroup(groups: CommandGroups, mark: str) -> None:
    group = groups.make("one", LIMITS)
    guard = Guard.start("unused", groups.folder)
    assert group is not None
    assert guard is not None
    script = f"{group.entering}; {SHED.format(mark=mark, rest=300)}"
    left = await asyncio.create_subprocess_exec("/bin/bash", "-c", script, env={"PATH": os.defpath})
    while len(group.members()) < 2:
        assert left.returncode is None
        await asyncio.sleep(0)
    await asyncio.to_thread(guard.close)
    assert await left.wait() == -9
    assert survivors(mark) == []


def test_an_empty_cgroup_goes_with_its_command_and_another_later(groups: CommandGroups) -> None:
    one, other = groups.make("one", LIMITS), groups.make("other", LIMITS)
    assert one is not None
    assert other is not None
    assert one.close() == ""
    other.leave()
    assert {path.name for path in groups.folder.iterdir() if path.is_dir()} == {"other"}
    assert groups.make("third", LIMITS) is not None
    assert {path.name for path in groups.folder.iterdir() if path.is_dir()} == {"third"}


def test_what_a_killed_application_left_is_removed(groups: CommandGroups) -> None:
    stale = groups.folder.with_name(f"desktop-agent-{2**31}-stale")
    (stale / "one").mkdir(parents=True)
    other = CommandGroups.open("other")
    assert other is not None
    other.close()
    # systemd makes a scope for each application, and removes it with the application.
    assert not stale.exists() or other.folder.parent != stale.parent
    with suppress(FileNotFoundError):
        (stale / "one").rmdir()
        stale.rmdir()


def test_the_kernel_holds_the_limits(groups: CommandGroups) -> None:
    _require(groups, "memory")
    _require(groups, "pids")
    group = groups.make("one", LIMITS)
    assert group is not None
    limits = {name: (groups.folder / "one" / name).read_text().strip() for name in ("memory.max", "memory.oom.group")}
    assert limits == {"memory.max": str(64 * MIB), "memory.oom.group": "1"}
    assert int((groups.folder / "one" / "pids.max").read_text()) >= LIMITS.max_tasks


async def test_memory_that_no_process_holds_counts_too(groups: CommandGroups) -> None:
    _require(groups, "memory")
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:  # a file there is memory
        outcome = await _run(f"head -c {200 * MIB} /dev/zero > {shlex.quote(file.name)}; sleep 300")
    assert outcome.end.excess == "it held more than 0.1 GiB of memory"
