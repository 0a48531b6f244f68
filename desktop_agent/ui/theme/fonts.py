"""Which typefaces are used: Inter and JetBrains Mono where installed, else the system's own."""

from functools import cache

from PySide6.QtGui import QFont, QFontDatabase

TEXT_FAMILY = "Inter"
CODE_FAMILY = "JetBrains Mono"


def text_font(size_px: float) -> QFont:
    """Return the font for running text and controls."""
    return _font(TEXT_FAMILY, QFontDatabase.SystemFont.GeneralFont, size_px)


def code_font(size_px: float) -> QFont:
    """Return the fixed-pitch font for code, commands and diffs."""
    font = _font(CODE_FAMILY, QFontDatabase.SystemFont.FixedFont, size_px)
    font.setStyleHint(QFont.StyleHint.Monospace)
    # Ligatures would make `!=` one glyph: code is shown as it is written.
    font.setFeature(QFont.Tag("calt"), 0)
    return font


def _font(family: str, fallback: QFontDatabase.SystemFont, size_px: float) -> QFont:
    font = QFont(family) if _is_installed(family) else QFontDatabase.systemFont(fallback)
    # Pixel sizes are integers in Qt; a half pixel goes through points at 96 dpi, which is what Qt assumes for pixels.
    if size_px == int(size_px):
        font.setPixelSize(int(size_px))
    else:
        font.setPointSizeF(size_px * 72 / 96)
    return font


@cache
def _is_installed(family: str) -> bool:
    """Whether there is such a typeface. Qt looks through all there are, and every painted row asks for fonts."""
    return QFontDatabase.hasFamily(family)
