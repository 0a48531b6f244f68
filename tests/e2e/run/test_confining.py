"""`run` and `doctor` name the confinement of commands if it is not the best one.

As in a container: without user namespaces, and without Landlock, which the kernel refuses here.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import PROGRAM
from tests.sandboxes import sandbox_named

DEMO = Path(__file__).parents[3] / "resources" / "demo" / "pagination"
RUN = ("run", "--provider", "demo", "--approval", "on_request", "--prompt", "Fix the failing test", "--json")

FORBID_LANDLOCK = """
import ctypes, os, struct, sys
# BPF: load the number of the system call; of Landlock's three (444 to 446) answer ENOSYS, allow all others.
steps = [(0x20, 0, 0, 0), (0x35, 0, 2, 444), (0x25, 1, 0, 446), (0x06, 0, 0, 0x50026), (0x06, 0, 0, 0x7FFF0000)]
code = b"".join(struct.pack("HBBI", *step) for step in steps)
buffer = ctypes.create_string_buffer(code)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(buffer)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0, ctypes.get_errno()
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return shutil.copytree(DEMO, tmp_path / "pagination")


def without_namespaces(*words: str, has_landlock: bool = True) -> "subprocess.CompletedProcess[str]":
    """Run a command of ours without user namespaces. Skips where there are none anyway."""
    sandbox_named("bubblewrap", os.environ)
    ours = [*PROGRAM, *words]
    filtered = ours if has_landlock else [sys.executable, "-c", FORBID_LANDLOCK, *ours]
    script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    return subprocess.run(  # noqa: TID251 - a whole process, with a limit of its own
        ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh", *filtered],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_run_without_user_namespaces_says_that_landlock_confines(workspace: Path) -> None:
    sandbox_named("landlock", os.environ)
    ran = without_namespaces(*RUN, "--workspace", str(workspace))
    assert json.loads(ran.stdout)["confined_by"] == "landlock"
    assert "! Commands are confined by landlock. bubblewrap does not work: bwrap cannot confine" in ran.stderr
    assert "set the sysctl user.max_user_namespaces" in ran.stderr


def test_a_run_that_nothing_confines_says_so_and_runs_no_command(workspace: Path) -> None:
    ran = without_namespaces(*RUN, "--workspace", str(workspace), has_landlock=False)
    result = json.loads(ran.stdout)
    assert (ran.returncode, result["stopped_reason"], result["confined_by"]) == (3, "approval_required", None)
    assert "! Commands cannot be confined here, so each of them asks before it runs." in ran.stderr


def test_the_doctor_says_both(workspace: Path) -> None:
    found = without_namespaces("doctor", "--workspace", str(workspace), "--json", has_landlock=False)
    checks = {check["name"]: check for check in json.loads(found.stdout)["checks"]}
    assert checks["sandbox"]["state"] == "warning"
    assert "cannot be confined here" in checks["sandbox"]["message"]
    assert "max_user_namespaces" in checks["sandbox bubblewrap"]["hint"]
    assert checks["sandbox landlock"]["message"].startswith("does not work: The kernel has no Landlock")


def test_where_the_best_sandbox_works_a_run_only_names_it(workspace: Path) -> None:
    sandbox_named("bubblewrap", os.environ)
    argv = [*PROGRAM, *RUN, "--workspace", str(workspace)]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)  # noqa: TID251 - a whole process
    assert json.loads(ran.stdout)["confined_by"] == "bubblewrap"
    assert "confine" not in ran.stderr
