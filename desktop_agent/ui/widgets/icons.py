"""The icons of buttons and rows, from Phosphor, in the colours of the theme.

QtAwesome itself is not imported, only its font is read: the import takes 170 ms and patches PySide's classes. Icons are
pixmaps, because Qt deletes the clones of a `QIconEngine` written in Python too early.
"""

import json
import logging
import math
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from PySide6.QtCore import QObject, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication, QIcon, QPainter, QPainterPath, QPixmap, QRawFont
from PySide6.QtWidgets import QAbstractButton

from desktop_agent.ui.theme import Theme

IconName = Literal["gear", "side", "tick", "images", "thinking", "favourite", "no favourite", "inbox"]

_GLYPHS: Final[Mapping[IconName, str]] = {
    "gear": "gear", "side": "square-half", "tick": "check-bold", "images": "image", "thinking": "brain",
    "favourite": "star-fill", "no favourite": "star", "inbox": "tray",
}  # fmt: skip

_SIZE: Final = 16
_EM: Final = 64.0

_log = logging.getLogger(__name__)


class Icons(QObject):
    loaded = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self._outlines: dict[IconName, QPainterPath] = {}
        self._painted: dict[tuple[IconName, str, int], QPixmap] = {}
        theme.changed.connect(self._painted.clear)

    @property
    def is_loaded(self) -> bool:
        return bool(self._outlines)

    def attach(self, button: QAbstractButton, name: IconName) -> None:
        button.setIconSize(QSize(_SIZE, _SIZE))
        _Attachment(self, button, name)

    def icon(self, name: IconName) -> QIcon:
        icon, ratios = QIcon(), (screen.devicePixelRatio() for screen in QGuiApplication.screens())
        densities = {1, math.ceil(max(ratios))}  # Qt scales icons down for densities in between
        for mode, role in ((QIcon.Mode.Normal, "muted"), (QIcon.Mode.Disabled, "faint")):
            for density in densities:
                icon.addPixmap(self._pixmap(name, role, density), mode)
        return icon

    def paint(self, painter: QPainter, name: IconName, centre: QPointF, role: str) -> None:
        """Paint an icon around `centre`. Draws nothing before `load`."""
        density = math.ceil(painter.device().devicePixelRatio())
        key = (name, role, density)
        if (pixmap := self._painted.get(key)) is None:
            pixmap = self._painted[key] = self._pixmap(name, role, density)
        painter.drawPixmap(QPointF(centre.x() - _SIZE / 2, centre.y() - _SIZE / 2), pixmap)

    def load(self) -> None:
        """Read the font and set all icons. Call this after the first paint; a second call does nothing."""
        if self._outlines:
            return
        try:
            self._outlines = _read_outlines()
        except (OSError, ValueError, KeyError, StopIteration):
            # Every button has a name and most have text: without icons the window is plain, not broken.
            _log.exception("the icons could not be read")
            return
        self._painted.clear()
        self.loaded.emit()

    def _pixmap(self, name: IconName, role: str, density: int) -> QPixmap:
        pixmap = QPixmap(_SIZE * density, _SIZE * density)
        pixmap.fill(Qt.GlobalColor.transparent)
        outline = self._outlines.get(name)
        if outline is not None:
            with QPainter(pixmap) as painter:
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                painter.scale(_SIZE * density / _EM, _SIZE * density / _EM)
                painter.fillPath(outline, self.theme.colour(role))
        pixmap.setDevicePixelRatio(density)
        return pixmap


class _Attachment(QObject):
    def __init__(self, icons: Icons, button: QAbstractButton, name: IconName) -> None:
        super().__init__(button)
        self._icons = icons
        self._button = button
        self._name: IconName = name
        icons.loaded.connect(self._update)
        icons.theme.changed.connect(self._update)
        self._update()

    def _update(self) -> None:
        self._button.setIcon(self._icons.icon(self._name))


def _read_outlines() -> dict[IconName, QPainterPath]:
    spec = find_spec("qtawesome")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("qtawesome is not installed")
    fonts = Path(spec.submodule_search_locations[0]) / "fonts"
    codes: dict[str, str] = json.loads(next(fonts.glob("phosphor-charmap-*.json")).read_text(encoding="utf-8"))
    # A raw font stays out of Qt's font database: registering it there would lay out every widget again.
    font = QRawFont(str(next(fonts.glob("phosphor-*.ttf"))), _EM)
    if not font.isValid():
        raise ValueError("the icon font is damaged")
    outlines: dict[IconName, QPainterPath] = {}
    for name, glyph in _GLYPHS.items():
        index = font.glyphIndexesForString(chr(int(codes[glyph], 16)))[0]
        outlines[name] = font.pathForGlyph(index).translated(0, font.ascent())
    return outlines
