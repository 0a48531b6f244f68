"""Finding a sandbox by trying, with reasons for the user."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from desktop_agent.core.sandbox.bubblewrap import Bubblewrap
from desktop_agent.core.sandbox.find import every_sandbox, find_sandbox, find_tried_sandbox, landlock_abi
from desktop_agent.core.system.processes.shell import find_program

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these sandboxes are Linux's")


def no_landlock() -> int:
    return 0


def test_without_any_there_is_none_and_each_says_why() -> None:
    """Z-94: nothing is used in place of a sandbox."""
    search = find_sandbox({**os.environ, "PATH": ""}, abi=no_landlock)
    assert search.sandbox is None
    assert [(report.name, report.is_available) for report in search.reports] == [
        ("bubblewrap", False),
        ("landlock", False),
    ]
    assert all(report.reason and report.hint for report in search.reports)
    assert "apt install bubblewrap" in search.reports[0].hint


def test_bubblewrap_is_preferred_to_landlock() -> None:
    names = [sandbox.name for sandbox in every_sandbox(os.environ)]
    if not names:
        pytest.skip("no sandbox works on this machine")
    found = find_sandbox(os.environ).sandbox
    assert found is not None
    assert found.name == ("bubblewrap" if "bubblewrap" in names else "landlock")


def test_landlock_is_used_where_bubblewrap_is_missing() -> None:
    search = find_sandbox({**os.environ, "PATH": ""})
    if landlock_abi() < 3:
        assert search.sandbox is None
    else:
        assert search.sandbox is not None
        assert search.sandbox.name == "landlock"


def test_a_landlock_that_cannot_enforce_everything_counts_as_none() -> None:
    """Before version 3 any file could be truncated."""
    search = find_sandbox({**os.environ, "PATH": ""}, abi=lambda: 2)
    assert search.sandbox is None
    assert "truncated" in search.reports[1].reason


LISTENED = """
import ctypes, os, struct, subprocess, sys
from pathlib import Path
from desktop_agent.core.system.processes.runner import Command
from desktop_agent.core.sandbox.confinement import ConfinementSpec
from desktop_agent.core.sandbox.find import find_sandbox
from desktop_agent.core.sandbox.seccomp import listener_call

class Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))

libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
assert libc.syscall(listener_call(), 1, 8, ctypes.byref(Filter(1, struct.pack("<HBBI", 6, 0, 0, 0x7FFF0000)))) >= 0
search = find_sandbox({**os.environ, "PATH": os.defpath if sys.argv[2] == "bubblewrap" else ""})
print(search.sandbox.name, next(report.reason for report in search.reports if report.name == search.sandbox.name))
folders = [Path(sys.argv[1]) / name for name in ("workspace", "temp")]
for folder in folders:
    (folder / "src").mkdir(parents=True)
confinement = ConfinementSpec(workspace=folders[0], is_workspace_writable=True, temp=folders[1])
argv = ("/bin/sh", "-c", sys.argv[3])
command = search.sandbox.wrap(Command(argv=argv, cwd=folders[0], environ={"PATH": os.defpath}), confinement)
subprocess.call(command.argv, cwd=folders[0], env=command.environ)
print(f"{(folders[0] / 'src/a').stat().st_mode & 0o777:o}")
"""


@pytest.mark.skipif(landlock_abi() < 3, reason="Landlock does not work on this machine")
def test_where_another_program_listens_no_file_is_opened_to_others(tmp_path: Path) -> None:
    reason, mode = listened(tmp_path, "landlock", "touch src/a && chmod 700 src/a && chmod 711 src/a")
    assert "listens" in reason
    assert mode == "700"


def listened(folder: Path, sandbox: str, script: str) -> list[str]:
    said = subprocess.check_output(
        [sys.executable, "-c", LISTENED, str(folder), sandbox, script], text=True, stderr=subprocess.DEVNULL
    )
    return said.splitlines()


@pytest.fixture
def outside_tmp() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_where_another_program_listens_bubblewrap_refuses_the_same_modes_and_copies_work(outside_tmp: Path) -> None:
    script = "umask 022; touch src/b; chmod 750 src/b; cp -p src/b src/a || exit; chmod 4755 src/a; chmod 777 src/a"
    said, mode = listened(outside_tmp, "bubblewrap", script)
    if "bubblewrap" not in said:
        pytest.skip("bubblewrap does not work on this machine")
    assert mode == "750"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1", "setting up uid map"),
        ('while [ "$1" != -- ]; do shift; done; shift; exec "$@"', "confin"),
        ("echo confined", "without confining"),
        ("exit 0", "exit code 0"),
    ],
    ids=["fails", "does_nothing", "lies", "silent"],
)
def test_a_program_that_does_not_confine_is_not_believed(tmp_path: Path, script: str, reason: str) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    search = find_sandbox({**os.environ, "PATH": str(tmp_path)}, abi=no_landlock)
    assert search.sandbox is None
    assert reason in search.reports[0].reason or "exit code" in search.reports[0].reason
    assert search.reports[0].hint


def test_a_program_in_a_relative_folder_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`PATH=.:…` must not make a file of the workspace the sandbox."""
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho confined\n")
    fake.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    search = find_sandbox({**os.environ, "PATH": ".:"}, abi=no_landlock)
    assert "not installed" in search.reports[0].reason


def test_a_sandbox_that_works_is_not_tried_again_until_something_changes(tmp_path: Path) -> None:
    real = find_program("bwrap", os.environ)
    if real is None or not isinstance(find_sandbox(os.environ).sandbox, Bubblewrap):
        pytest.skip("bubblewrap does not work on this machine")
    program, runs, tried = tmp_path / "bin/bwrap", tmp_path / "runs", tmp_path / "cache/tried"
    for folder in (program.parent, tried.parent):
        folder.mkdir()

    def found(script: str = "") -> tuple[bool, int]:
        """Return whether a sandbox was found, and how often its program ran for that."""
        if script:
            program.write_text(f"#!/bin/sh\necho >> {runs}\n{script}\n")
            program.chmod(0o755)
        runs.write_text("")
        search = find_tried_sandbox({**os.environ, "PATH": str(program.parent)}, tried)
        return isinstance(search.sandbox, Bubblewrap), runs.read_text().count("\n")

    works = f'exec {real} "$@"'
    assert found(works) == (True, 1)
    assert found() == (True, 0)
    assert found("exit 1  # a longer program") == (False, 1)
    assert found() == (False, 1), "what fails is tried again"
    assert found(works) == (True, 1)
    for content in (b"", b"\xff\x00", b"0" * 64):
        tried.write_bytes(content)
        assert found() == (True, 1)
    assert found() == (True, 0)
    shutil.rmtree(tried.parent)
    assert found() == (True, 1)
