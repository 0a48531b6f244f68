"""Screens for Qt's offscreen platform, whose own has 800 × 800 pixels."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path


def offscreen(size: str) -> str:
    """Return `QT_QPA_PLATFORM` for one screen of this size: `1920x1080`, or another of this folder."""
    path = Path(__file__).with_name(f"{size}.json")
    assert path.is_file()
    plain = path if _is_plain(path) else _plain_copy(path)
    return f"offscreen:configfile={plain.as_posix().removeprefix(plain.drive)}"


def _is_plain(path: Path) -> bool:
    """Whether Qt can open the path: it reads the variable as Latin-1, and ends paths at `:` and `;`."""
    text = path.as_posix().removeprefix(path.drive)
    return text.isascii() and not set(":;") & set(text)


@cache
def _plain_copy(path: Path) -> Path:
    """Return a copy of the file that exists until this process ends."""
    usual = Path(tempfile.gettempdir())
    folder = Path(tempfile.mkdtemp(prefix="screens-", dir=usual if _is_plain(usual) else "/tmp"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(shutil.copy(path, folder))
