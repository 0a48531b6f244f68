"""The shipped typefaces, on a machine without others."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
from PySide6.QtGui import QFontInfo
from PySide6.QtWidgets import QApplication
from desktop_agent.ui.theme import Theme
theme = Theme(QApplication(["desktop-agent", "-style", "fusion"]))
italic, strong_italic = theme.text_font(), theme.strong_font()
for font in (italic, strong_italic):
    font.setItalic(True)
strong_italic.setBold(True)
for font in (theme.text_font(), theme.strong_font(), italic, strong_italic, theme.code_font()):
    print(QFontInfo(font).family(), QFontInfo(font).styleName(), QFontInfo(font).pixelSize())
"""


def test_the_window_has_its_typefaces_where_none_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = tmp_path / "fonts.conf"
    nothing.write_text("<fontconfig></fontconfig>")
    monkeypatch.setenv("FONTCONFIG_FILE", str(nothing))

    found = subprocess.check_output([sys.executable, "-c", PROGRAM], text=True)

    assert found.splitlines() == [
        "Inter Regular 13",
        "Inter SemiBold 13",
        "Inter Italic 13",
        "Inter Bold Italic 13",
        "JetBrains Mono Regular 12",
    ]
