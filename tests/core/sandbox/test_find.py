"""Finding a sandbox: by trying, and with reasons a person can act on."""

import os
import sys
from pathlib import Path

import pytest

from desktop_agent.core.sandbox.find import every_sandbox, find_sandbox
from desktop_agent.core.sandbox.landlock import landlock_abi

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these sandboxes are Linux's")


def no_landlock() -> int:
    return 0


def test_without_any_there_is_none_and_each_says_why() -> None:
    """Z-94: then nothing pretends to be one."""
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
