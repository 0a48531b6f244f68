from pathlib import Path

import pytest

from desktop_agent.core.base.errors import SandboxError
from desktop_agent.core.sandbox.confinement import ConfinementSpec
from desktop_agent.core.sandbox.guarded import Guards
from desktop_agent.core.sandbox.seatbelt import Seatbelt, profile_for
from desktop_agent.core.system.processes.runner import Command


@pytest.fixture
def confinement(tmp_path: Path) -> ConfinementSpec:
    folders = [tmp_path / name for name in ("app", "temp")]
    for folder in folders:
        folder.mkdir()
    (folders[0] / ".git").mkdir()
    return ConfinementSpec(workspace=folders[0], is_workspace_writable=True, temp=folders[1])


def test_protection_comes_after_what_it_takes_back(confinement: ConfinementSpec, tmp_path: Path) -> None:
    """The last matching rule wins."""
    guards = Guards(hidden=(tmp_path / ".ssh",), read_only=())
    profile = profile_for(confinement, guards)
    assert profile.startswith("(version 1)\n(deny default)")
    workspace, git = f'(subpath "{tmp_path}/app")', f'(subpath "{tmp_path}/app/.git")'
    own, secret = f'(subpath "{tmp_path}/app/.desktop-agent")', f'(subpath "{tmp_path}/.ssh")'
    assert profile.index("(allow file-read*)") < profile.index(secret)
    assert profile.index(workspace) < profile.index(git)
    assert profile.index(workspace) < profile.index(own)
    assert profile.rstrip().endswith("(deny network*)")
    assert profile.count("(") == profile.count(")")


def test_folders_above_what_is_protected_cannot_be_moved_away(confinement: ConfinementSpec, tmp_path: Path) -> None:
    (tmp_path / "app" / "libs" / "one" / ".git").mkdir(parents=True)
    profile = profile_for(confinement, Guards((), ()))
    above = f'  (literal "{tmp_path}/app/libs")\n  (literal "{tmp_path}/app/libs/one")\n'
    assert f"(deny file-write-unlink\n{above})" in profile


def test_strict_names_only_the_private_folder_as_writable(confinement: ConfinementSpec, tmp_path: Path) -> None:
    strict = ConfinementSpec(workspace=confinement.workspace, is_workspace_writable=False, temp=confinement.temp)
    profile = profile_for(strict, Guards((), ()))
    assert f'(allow file-read* file-write*\n  (subpath "{tmp_path}/temp")\n)' in profile


def test_a_folder_name_cannot_add_rules(tmp_path: Path) -> None:
    odd = tmp_path / 'a") (allow default) ("\\'
    odd.mkdir()
    profile = profile_for(ConfinementSpec(workspace=odd, is_workspace_writable=True, temp=odd), Guards((), ()))
    assert '/a\\") (allow default) (\\"\\\\")' in profile
    worse = tmp_path / "a\nb"
    worse.mkdir()
    with pytest.raises(SandboxError):
        profile_for(ConfinementSpec(workspace=worse, is_workspace_writable=True, temp=worse), Guards((), ()))


def test_the_command_comes_last(confinement: ConfinementSpec) -> None:
    command = Command(argv=("echo", "-n"), cwd=confinement.workspace, environ={"A": "b"})
    wrapped = Seatbelt(Guards((), ())).wrap(command, confinement)
    assert wrapped.argv[:2] == ("/usr/bin/sandbox-exec", "-p")
    assert wrapped.argv[3:] == command.argv
    assert wrapped.environ["TMPDIR"] == str(confinement.temp)
    assert wrapped.environ["A"] == "b"
