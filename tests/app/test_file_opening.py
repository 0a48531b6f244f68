"""*Open with its application* shows a file, and never starts one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, QUrl, Slot
from PySide6.QtGui import QDesktopServices
from pytestqt.qtbot import QtBot

from desktop_agent.app.file_opening import open_in_editor, open_with_application

STARTED = (
    "a.py", "a.pyw", "a.js", "a.jse", "a.vbs", "a.wsf", "a.hta", "a.ps1", "a.bat", "a.cmd", "a.com", "a.exe", "a.msi",
    "a.scr", "a.pif", "a.cpl", "a.lnk", "a.url", "a.reg", "a.inf", "a.chm", "a.application", "a.appref-ms", "a.msc",
    "a.sh", "a.bash", "a.run", "a.AppImage", "a.desktop", "a.jar", "a.jnlp", "a.deb", "a.rpm", "a.flatpakref", "a.snap",
    "a.command", "a.tool", "a.terminal", "a.scpt", "a.applescript", "a.workflow", "a.webloc", "a.pkg", "a.dmg", "a.iso",
    "a.html", "a.htm", "a.xhtml", "a.mht", "a.svg", "a.docm", "a.xlsm", "a.pptm", "a.doc", "a.xls", "a.odt", "a.ods",
    "a.zip", "a.tar.gz", "a.7z", "a.rb", "a.pl", "a.php", "a.lua", "a.service", "a.vsix", "a.xpi", "a.theme",
    "a.unknown", "Makefile", "a", "a.txt.exe", "a.png.desktop", "a.png ", "a.txt:b.exe", "\u202egnp.exe", "x.exe.",
)  # fmt: skip
SHOWN = (
    *("a.txt", "README.md", "a.PNG", "photo.jpeg", "a.pdf", "a.csv", "song.mp3", "clip.mp4", "report.docx", "b.a.log"),
)


class Desktop(QObject):
    def __init__(self) -> None:
        super().__init__()
        self.opened: list[Path] = []

    @Slot(QUrl)
    def open(self, url: QUrl) -> None:
        self.opened.append(Path(url.toLocalFile()))


@pytest.fixture
def desktop(qtbot: QtBot) -> Iterator[Desktop]:
    desktop = Desktop()
    QDesktopServices.setUrlHandler("file", desktop, "open")  # pyright: ignore[reportArgumentType]  # it takes text, its types say bytes
    yield desktop
    QDesktopServices.unsetUrlHandler("file")


def opened(desktop: Desktop, path: Path) -> Path:
    open_with_application(str(path))
    return desktop.opened.pop()


@pytest.mark.parametrize("name", STARTED)
def test_of_a_file_that_could_start_its_folder_is_opened(desktop: Desktop, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"x")
    assert opened(desktop, tmp_path / name) == tmp_path


@pytest.mark.parametrize("name", SHOWN)
def test_a_file_that_is_only_shown_is_opened(desktop: Desktop, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"x")
    assert opened(desktop, tmp_path / name) == tmp_path / name


def test_neither_a_right_to_run_nor_a_link_makes_a_picture_start(desktop: Desktop, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x7fELF")
    (tmp_path / "a.png").chmod(0o755)
    (tmp_path / "b.desktop").write_text("[Desktop Entry]")
    (tmp_path / "b.png").symlink_to("b.desktop")
    (tmp_path / "c.txt").write_text("c")
    (tmp_path / "c.desktop").symlink_to("c.txt")

    assert {opened(desktop, tmp_path / name) for name in ("a.png", "b.png", "c.desktop", "gone.png")} == {tmp_path}


def test_a_folder_is_opened_as_one_and_where_folders_start_one_above_it(
    desktop: Desktop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = tmp_path / "evil.app" / "Contents"
    contents.mkdir(parents=True)
    (tmp_path / "evil.app" / "run.sh").write_text("x")

    assert opened(desktop, contents) == contents
    monkeypatch.setattr("sys.platform", "darwin")
    assert opened(desktop, tmp_path / "evil.app") == tmp_path
    assert opened(desktop, tmp_path / "evil.app" / "run.sh") == tmp_path
    (tmp_path / "evil" / "Contents" / "MacOS").mkdir(parents=True)
    assert opened(desktop, tmp_path / "evil") == tmp_path


async def test_a_file_of_settings_that_leads_to_something_that_starts_is_not_opened(
    desktop: Desktop, tmp_path: Path
) -> None:
    (tmp_path / "kept.toml").write_text("")
    (tmp_path / "evil.desktop").write_text("[Desktop Entry]")
    (tmp_path / "evil.toml").write_text("#!/bin/sh")
    (tmp_path / "evil.toml").chmod(0o755)
    for name in ("kept.toml", "evil.desktop", "evil.toml", "gone.toml"):
        folder = tmp_path / name.replace(".", "-")
        folder.mkdir()
        (folder / "config.toml").symlink_to(tmp_path / name)
        await open_in_editor(folder / "config.toml")
        assert desktop.opened.pop() == (folder / "config.toml" if name == "kept.toml" else folder)
