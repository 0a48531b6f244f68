"""`desktop-agent doctor`, as people start it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.core.sandbox.find import find_sandbox


def doctor(*options: str, **environ: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "desktop_agent", "doctor", *options]
    with subprocess.Popen(
        argv, env={**os.environ, **environ}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(argv, process.returncode, out, err)


def checks(run: "subprocess.CompletedProcess[str]") -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in json.loads(run.stdout)["checks"]}


def test_it_says_of_everything_whether_it_works() -> None:
    run = doctor("--json")
    found = checks(run)
    assert run.returncode == 0, run.stdout
    for name in ("python", "qt", "ripgrep", "folder settings", "folder sessions", "folder cache", "folder logs"):
        assert found[name]["state"] == "ok", found[name]
    assert "offscreen" in found["qt"]["message"]
    assert {frozenset(check) for check in found.values()} == {frozenset({"name", "state", "message", "hint"})}
    search = find_sandbox(os.environ)
    assert found["sandbox"]["state"] == ("ok" if search.sandbox else "warning")


def test_a_missing_part_is_a_warning_with_what_to_do(tmp_path: Path) -> None:
    run = doctor("--json", PATH=str(tmp_path))
    found = checks(run)
    assert run.returncode == 0
    assert found["git"]["state"] == "warning"
    assert found["keyring"]["state"] == "warning"
    if sys.platform.startswith("linux"):
        assert found["sandbox bubblewrap"]["state"] == "warning"
        assert "apt install bubblewrap" in found["sandbox bubblewrap"]["hint"]


def test_what_keeps_the_application_from_working_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    run = doctor("--json", DESKTOP_AGENT_HOME=str(tmp_path / "file"))
    found = checks(run)
    assert run.returncode == 1
    assert found["folder sessions"]["state"] == "problem"
    assert found["folder sessions"]["hint"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems always have a display")
def test_a_windows_platform_that_does_not_start_is_a_problem() -> None:
    run = doctor("--json", QT_QPA_PLATFORM="xcb", DISPLAY=":9999")
    assert run.returncode == 1
    assert checks(run)["qt"]["state"] == "problem"
    assert checks(run)["qt"]["hint"]


def test_people_read_lines_with_a_hint_below() -> None:
    run = doctor(PATH="")
    assert "warning  git" in run.stdout
    assert "→ Install git." in run.stdout


def test_it_leaves_nothing_behind(isolated_home: Path) -> None:
    doctor()
    assert [str(path) for path in isolated_home.rglob("*") if path.is_file()] == []


def test_it_does_not_import_qt_itself() -> None:
    code = "import sys; from desktop_agent.cli import main; main(['doctor']); print('PySide6' in sys.modules)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        out, _ = process.communicate(timeout=60)
    assert out.splitlines()[-1] == "False"
