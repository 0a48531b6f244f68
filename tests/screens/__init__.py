"""Screens for Qt's offscreen platform, whose own has 800 × 800 pixels."""

from pathlib import Path


def offscreen(size: str) -> str:
    """Return the value of `QT_QPA_PLATFORM` for one screen of this size: `1920x1080`, or another of this folder."""
    path = Path(__file__).with_name(f"{size}.json")
    assert path.is_file()
    return f"offscreen:configfile={path}"
