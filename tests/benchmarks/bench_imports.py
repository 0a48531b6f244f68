"""The imports of a command that does next to nothing.

The yardstick is `python -c "import pydantic"`, in turns. Compared is processor time, the best of seven, which other
programs hardly change. Compiled modules are kept, as in an installation.
"""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROUNDS: Final = 7
LIMITS: Final = {
    "--help": 2.0,
    "sessions list": 2.5,
    "config show": 2.5,
    "changes list": 2.5,
    "tools list": 4.0,
    "run --provider demo --prompt /help": 6.0,
}
YARDSTICK: Final = ("-c", "import pydantic")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not say what a child took")
def test_a_command_costs_little_more_than_its_imports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours("run", "--provider", "demo", "--prompt", "hello", folder=tmp_path)
    listed = json.loads(ours("sessions", "list", "--json", folder=tmp_path)[1])
    session_id = str(listed["sessions"][0]["id"])
    yardstick = [spent(YARDSTICK, tmp_path)[0]]
    costs: dict[str, list[float]] = {name: [] for name in LIMITS}
    for _ in range(ROUNDS):
        yardstick.append(spent(YARDSTICK, tmp_path)[0])
        for name, found in costs.items():
            more = [session_id] if name == "changes list" else []
            found.append(ours(*name.split(), *more, folder=tmp_path)[0])
    floor = min(yardstick)
    lines = [f"\n{'processor time, best of ' + str(ROUNDS):40}{'ms':>8}{'ratio':>8}{'limit':>8}"]
    lines.append(f"{'yardstick: python -c `import pydantic`':40}{floor * 1000:8.0f}")
    for name, found in costs.items():
        lines.append(f"{name:40}{min(found) * 1000:8.0f}{min(found) / floor:8.2f}{LIMITS[name]:8.1f}")
    with capsys.disabled():
        sys.stdout.write("\n".join(lines) + "\n")
    assert {name: min(found) / floor for name, found in costs.items() if min(found) / floor > LIMITS[name]} == {}


def ours(*arguments: str, folder: Path) -> tuple[float, str]:
    return spent(("-m", "desktop_agent", *arguments), folder)


def spent(arguments: tuple[str, ...], folder: Path) -> tuple[float, str]:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(  # noqa: TID251 - a whole process
        [sys.executable, *arguments], cwd=folder, env=environ, check=True, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout
