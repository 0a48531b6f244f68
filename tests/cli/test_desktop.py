"""The entry in a desktop's menu: what is written, what it starts, and that nothing is left of it."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from desktop_agent.cli import desktop
from desktop_agent.core.base.errors import UsageError
from tests.command_line import main

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="such entries are Linux's")


@pytest.fixture
def share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "shared data"))
    return tmp_path / "shared data"


def told_by(*argv: str) -> str:
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        told, _ = process.communicate(timeout=60)
    assert process.returncode == 0, told
    return told


def test_the_entry_is_valid_and_starts_the_program_of_this_installation(
    share: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["desktop", "install", "--json"]) == 0
    files = [Path(name) for name in json.loads(capsys.readouterr().out)["files"]]
    entry = share / "applications/desktop-agent.desktop"
    assert entry in files
    assert all(path.is_file() for path in files)
    validator = shutil.which("desktop-file-validate")
    assert validator is not None, "the package desktop-file-utils"
    assert told_by(validator, str(entry)) == ""
    [command] = [line.removeprefix("Exec=") for line in entry.read_text().splitlines() if line.startswith("Exec=")]
    program, placeholder = shlex.split(command)
    assert placeholder == "%u"
    assert told_by(program, "--version").startswith("desktop-agent ")


def test_icons_have_the_size_of_their_folder(share: Path) -> None:
    main(["desktop", "install"])
    pictures = list((share / "icons/hicolor").rglob("desktop-agent.png"))
    assert len(pictures) == 9
    for path in pictures:
        image = QImage(str(path))
        assert f"{image.width()}x{image.height()}" == path.parts[-3]
        assert image.pixelColor(image.width() // 2, 1).alpha() == 255
    assert (share / "icons/hicolor/scalable/apps/desktop-agent.svg").read_bytes().startswith(b"<svg")


def test_removing_it_leaves_other_files_alone_and_nothing_of_ours(
    share: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = share / "icons/hicolor/48x48/apps/other.png"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"x")
    for _ in range(2):
        assert main(["desktop", "install"]) == 0
    assert main(["desktop", "uninstall"]) == 0
    caches = ("mimeinfo.cache", "icon-theme.cache")
    assert [path for path in share.rglob("*") if path.is_file() and path.name not in caches] == [other]
    capsys.readouterr()
    assert main(["desktop", "uninstall"]) == 0
    assert "was not in the menu" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["a b", 'quo"ted', "$HOME`x`", "back\\slash"])
def test_a_program_in_a_folder_of_any_name_is_started(share: Path, tmp_path: Path, name: str) -> None:
    program = tmp_path / name / "desktop-agent"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho started "$1" > {shlex.quote(str(tmp_path / "told"))}\n')
    program.chmod(0o755)
    desktop.install(share, program)
    launcher = shutil.which("gio")
    assert launcher is not None, "the package libglib2.0-bin"
    told_by(launcher, "launch", str(share / desktop.ENTRY), "desktop-agent://session/x")
    assert (tmp_path / "told").read_text() == "started desktop-agent://session/x\n"


def test_what_cannot_be_written_or_started_is_said(share: Path, capsys: pytest.CaptureFixture[str]) -> None:
    share.mkdir()
    (share / "icons").touch()
    assert main(["desktop", "install"]) == 1
    assert "icons" in capsys.readouterr().err
    with pytest.raises(UsageError, match="No menu can start"):
        desktop.install(share, Path("/nowhere/100%/desktop-agent"))


@pytest.mark.parametrize(
    ("link", "error"),
    [
        ("desktop-agent://session/20261129-213132-tsateg", "There is no display"),
        ("desktop-agent://session/20261129-213132-tsateg/", "There is no display"),
        ("file:///usr", "There is no display"),
        ("file://localhost/%75sr", "There is no display"),
        ("desktop-agent://session/--base-url=http://evil.example", "neither a command nor a folder"),
        ("desktop-agent://run/--prompt", "neither a command nor a folder"),
        ("file:///nowhere/at/all", "neither a command nor a folder"),
    ],
)
def test_a_link_opens_the_window_only_for_a_session_or_a_folder(
    link: str, error: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(variable, raising=False)
    assert main([link]) == 2
    assert error in capsys.readouterr().err
