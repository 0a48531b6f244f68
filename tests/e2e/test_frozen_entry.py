"""The entry of the frozen program, run by Python: the application, and Python for processes of our own modules."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from pkgutil import iter_modules

import pytest

import desktop_agent.cli
import shipped

ROOT = Path(__file__).parents[2]
ENTRY = ROOT / "packaging/frozen/entry.py"


COMMANDS = (
    *(module.name for module in iter_modules(desktop_agent.cli.__path__, "desktop_agent.cli.")),
    *("desktop_agent.cli.batch", "desktop_agent.cli.batch_worker"),
    *("desktop_agent.core.mcp.sdk.sdk_client", "desktop_agent.core.telemetry.pipeline"),
)


def told_by(*arguments: str, environ: Mapping[str, str] | None = None) -> bytes:
    argv = [sys.executable, str(ENTRY), *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env={**os.environ, **(environ or {})}) as process:
        told, errors = process.communicate(b"", timeout=300)
    assert process.returncode == 0, errors
    return told


@pytest.mark.parametrize("options", [["-P", "-m"], ["-m"]])
def test_it_runs_a_module_of_ours_as_python_does(options: list[str]) -> None:
    told = told_by(*options, "desktop_agent", "--version")
    assert told.startswith(b"desktop-agent ")


def test_it_runs_a_worker_process_until_its_input_ends() -> None:
    assert b"desktop-agent answers" in told_by("-P", "-m", "desktop_agent.core.diff.comparison_process")


def test_it_runs_a_script_and_a_program_text_with_their_arguments(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys\nprint(__name__, sys.argv[1:])\n")
    assert told_by("-I", "-S", str(script), "a b", "-m") == b"__main__ ['a b', '-m']\n"
    assert told_by("-c", "import sys; print(__name__, sys.argv)", "x") == b"__main__ ['-c', 'x']\n"


@pytest.mark.parametrize("own", [{}, {"LD_LIBRARY_PATH_ORIG": "/mine"}])
def test_what_it_starts_loads_the_systems_libraries_and_the_users(own: dict[str, str]) -> None:
    shown = "import json, os; print(json.dumps({n: v for n, v in os.environ.items() if 'PYI' in n or 'LIBRARY' in n}))"
    started = {"_PYI_ARCHIVE_FILE": "x", "_PYI_PARENT_PROCESS_LEVEL": "1", "LD_LIBRARY_PATH": "/ours:/mine", **own}
    assert json.loads(told_by("-c", shown, environ=started)) == ({"LD_LIBRARY_PATH": "/mine"} if own else {})


def test_every_command_is_imported_without_what_is_left_out() -> None:
    program = "import sys; sys.modules.update(dict.fromkeys(sys.argv[1:])); " + "; ".join(
        f"import {name}" for name in COMMANDS
    )
    told_by(
        "-c", program, *shipped.UNUSED_MODULES, *(name for name in shipped.unlisted_modules() if name.isidentifier())
    )


def test_everything_else_is_the_applications_command_line() -> None:
    assert told_by("--version") == told_by("-m", "desktop_agent", "--version")
