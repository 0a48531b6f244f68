import re
import shlex
import shutil
from pathlib import Path

import pytest

from desktop_agent.cli import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_examples_run_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    workspace = Path(shutil.copytree(ROOT / "resources" / "demo" / "pagination", tmp_path / "pagination"))
    monkeypatch.chdir(workspace)
    before = (workspace / "pagination" / "pages.py").read_bytes()
    section = README.partition("## On the command line\n")[2].partition("\n## ")[0]
    run, listing, diff, dry_run, undo = re.findall(r"^desktop-agent (.+)$", section, re.MULTILINE)

    assert main(shlex.split(run)) == 0
    after = (workspace / "pagination" / "pages.py").read_bytes()
    printed = capfdbinary.readouterr().out.decode()
    session = re.search(r"^Session: .*-(\w+)$", printed, re.MULTILINE)
    assert session is not None
    commands = [shlex.split(line.replace("xq1vkm", session[1])) for line in (listing, diff, dry_run)]
    assert [main(command) for command in commands] == [0, 0, 0]
    printed = capfdbinary.readouterr().out.decode()
    assert "Fix the failing test" in printed
    assert "+++ b/pagination/pages.py" in printed
    assert (workspace / "pagination" / "pages.py").read_bytes() == after != before
    assert main(shlex.split(undo.replace("xq1vkm", session[1]))) == 0
    assert (workspace / "pagination" / "pages.py").read_bytes() == before


def test_the_libraries_that_the_window_needs_are_those_that_the_scripts_install() -> None:
    named = README.partition("sudo apt install zstd ")[2].partition("```")[0].replace("\\", "").split()
    script = (ROOT / "packaging/setup.sh").read_text(encoding="utf-8")
    installed = script.partition("install_qt_libraries()")[2].partition("apt_install ")[2].partition("elif")[0]
    assert set(named) | {"libxkbcommon0"} == set(installed.replace("\\", "").split())
