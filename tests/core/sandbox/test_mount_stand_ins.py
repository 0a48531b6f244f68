"""Files that the sandbox needs in a workspace exist only while commands need them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from desktop_agent.core.base.mount_stand_ins import STAMP_NS, holding, is_stand_in, sweep
from desktop_agent.core.sandbox.confinement import confinement_for
from desktop_agent.core.system.processes.runner import Command, ProcessRunner
from tests.core.sandbox.conftest import Place
from tests.sandboxes import sandbox_named

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no sandbox of this system needs any")

HOLDS = """
import sys
from pathlib import Path
from desktop_agent.core.base.mount_stand_ins import holding
with holding([Path(sys.argv[1])]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_last_of_several_removes_it(tmp_path: Path) -> None:
    path = tmp_path / ".git"
    first, second = holding([path]), holding([path])
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert is_stand_in(path), "the other still stands on it"
    second.__exit__(None, None, None)
    assert not path.exists()


def test_what_the_user_has_there_stays(tmp_path: Path) -> None:
    empty, full = tmp_path / ".desktop-agent", tmp_path / ".git"
    empty.mkdir()
    full.mkdir()
    (full / "HEAD").write_text("ref: refs/heads/main\n")
    with holding([empty, full]):
        pass
    sweep([empty, full])
    assert empty.is_dir()
    assert (full / "HEAD").exists()


def test_a_repository_that_the_user_makes_on_a_stand_in_is_theirs(tmp_path: Path) -> None:
    with holding([tmp_path / ".git"]):
        subprocess.check_call(["git", "init", "-q", str(tmp_path)])
    assert (tmp_path / ".git" / "HEAD").exists()
    assert (tmp_path / ".git").stat().st_mtime_ns != STAMP_NS


def test_what_a_killed_process_held_is_swept_and_what_a_living_one_holds_is_not(tmp_path: Path) -> None:
    path = tmp_path / ".git"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        sweep([path])
        assert is_stand_in(path)
        holder.kill()
    assert is_stand_in(path), "no process was left to remove it"
    sweep([path])
    assert not path.exists()


async def test_of_two_commands_at_once_the_longer_keeps_its_walls(place: Place, runner: ProcessRunner) -> None:
    """The first command's end must not remove the cover of the second."""
    bare = place.home / "bare"
    bare.mkdir()
    sandbox = sandbox_named("bubblewrap", os.environ)
    confinement = confinement_for("restricted", bare, place.temp, ())

    def confined(script: str) -> Command:
        argv = ("/bin/bash", "-c", script)
        return sandbox.wrap(Command(argv=argv, cwd=bare, environ=dict(os.environ)), confinement)

    os.mkfifo(bare / "go")
    waiting = await runner.read(confined("read < go; mkdir .git/hooks; mkdir .git; touch done"), lambda _: None)
    assert (await runner.run(confined("true"))).end.exit_code == 0
    assert is_stand_in(bare / ".git")
    (bare / "go").write_text("\n")
    await waiting.wait()
    await waiting.end()
    assert sorted(path.name for path in bare.iterdir()) == ["done", "go"]


async def test_a_killed_command_leaves_nothing_of_its_walls(place: Place, runner: ProcessRunner) -> None:
    bare = place.home / "bare"
    bare.mkdir()
    sandbox = sandbox_named("bubblewrap", os.environ)
    confinement = confinement_for("restricted", bare, place.temp, ())
    argv = ("/bin/bash", "-c", "trap '' TERM; sleep 1000")
    child = await runner.read(
        sandbox.wrap(Command(argv=argv, cwd=bare, environ=dict(os.environ)), confinement), lambda _: None
    )
    assert is_stand_in(bare / ".git")
    await child.end()
    assert list(bare.iterdir()) == []
