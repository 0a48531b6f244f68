"""The icons of every button: one set, Phosphor, in the colours of the theme.

The glyphs come from the font that QtAwesome ships and keeps up to date. QtAwesome itself is not imported: that takes
170 ms, registers twelve fonts with Qt, and patches PySide's classes through qtpy. Reading the one font takes 12 ms,
after the first paint; until then an icon is an empty place of the right size.

Icons are pixmaps, not a `QIconEngine` written in Python: Qt deletes the clones of such an engine under Python's feet.
"""

import json
import logging
import math
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal, get_args

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication, QIcon, QPainter, QPainterPath, QPixmap, QRawFont
from PySide6.QtWidgets import QAbstractButton

from desktop_agent.ui.theme import Theme

IconName = Literal[
    "attach", "branch", "check", "chevron_down", "chevron_left", "chevron_right", "chevron_up", "close", "code",
    "commands", "copy", "edit", "error", "external", "eye", "eye_off", "file", "folder", "gear", "history", "inbox",
    "info", "key", "more", "plus", "quote", "redo", "refresh", "review", "search", "send", "session", "shield", "side",
    "stop", "tool", "trash", "undo", "warning",
]  # fmt: skip

Role = Literal["text", "muted", "accent", "accent_text", "on_accent", "removed_text", "warning_text"]
"""The palette's colour an icon has. A disabled one is `faint`."""

_GLYPHS: Final[Mapping[IconName, str]] = {
    "attach": "paperclip",
    "branch": "git-branch",
    "check": "check",
    "chevron_down": "caret-down",
    "chevron_left": "caret-left",
    "chevron_right": "caret-right",
    "chevron_up": "caret-up",
    "close": "x",
    "code": "code",
    "commands": "command",
    "copy": "copy",
    "edit": "pencil-simple",
    "error": "x-circle",
    "external": "arrow-square-out",
    "eye": "eye",
    "eye_off": "eye-slash",
    "file": "file",
    "folder": "folder",
    "gear": "gear",
    "history": "clock-counter-clockwise",
    "inbox": "tray",
    "info": "info",
    "key": "key",
    "more": "dots-three",
    "plus": "plus",
    "quote": "quotes",
    "redo": "arrow-clockwise",
    "refresh": "arrows-clockwise",
    "review": "git-diff",
    "search": "magnifying-glass",
    "send": "arrow-up",
    "session": "chat-circle",
    "shield": "shield-check",
    "side": "square-half",
    "stop": "stop-fill",
    "tool": "wrench",
    "trash": "trash",
    "undo": "arrow-counter-clockwise",
    "warning": "warning",
}

ICON_NAMES: Final[tuple[IconName, ...]] = get_args(IconName)
DEFAULT_SIZE: Final = 16

_EM: Final = 64.0
"""The size the outlines are taken at; they are scaled when drawn."""

_log = logging.getLogger(__name__)


class Icons(QObject):
    """Hands out icons by what they mean.

    Signals:
        loaded: icons are there at last.
    """

    loaded = Signal()

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        """What colours them."""
        self._outlines: dict[IconName, QPainterPath] = {}

    @property
    def is_loaded(self) -> bool:
        """Whether icons are drawn."""
        return bool(self._outlines)

    def attach(
        self, target: QAbstractButton | QAction, name: IconName, role: Role = "muted", *, size: int = DEFAULT_SIZE
    ) -> None:
        """Give a button or an action an icon, now or once icons are loaded, that follows the theme."""
        if isinstance(target, QAbstractButton):
            target.setIconSize(QSize(size, size))
        _Attachment(self, target, name, role, size)

    def icon(self, name: IconName, role: Role = "muted", *, size: int = DEFAULT_SIZE) -> QIcon:
        """Return an icon as it looks now: empty before `load`, and in the colours of the present theme."""
        icon = QIcon()
        for mode, colour_role in ((QIcon.Mode.Normal, role), (QIcon.Mode.Disabled, "faint")):
            for density in _densities():
                icon.addPixmap(self._pixmap(name, colour_role, size, density), mode)
        return icon

    def load(self) -> None:
        """Read the outlines. Call it after the first paint; a second call does nothing."""
        if self._outlines:
            return
        try:
            self._outlines = _read_outlines()
        except (OSError, ValueError, KeyError, StopIteration):
            # Every button has a name and most have text: without icons the window is plain, not broken.
            _log.exception("the icons could not be read")
            return
        self.loaded.emit()

    def _pixmap(self, name: IconName, role: str, size: int, density: int) -> QPixmap:
        pixmap = QPixmap(size * density, size * density)
        pixmap.fill(Qt.GlobalColor.transparent)
        outline = self._outlines.get(name)
        if outline is not None:
            painter = QPainter(pixmap)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.scale(size * density / _EM, size * density / _EM)
            painter.fillPath(outline, self.theme.colour(role))
            painter.end()
        pixmap.setDevicePixelRatio(density)
        return pixmap


def _densities() -> set[int]:
    """Return for how many pixels per device-independent pixel to draw; Qt scales down for what lies between."""
    return {1, math.ceil(max(screen.devicePixelRatio() for screen in QGuiApplication.screens()))}


class _Attachment(QObject):
    """Keeps the icon of one button or action up to date for as long as that lives."""

    def __init__(self, icons: Icons, target: QAbstractButton | QAction, name: IconName, role: Role, size: int) -> None:
        for earlier in target.findChildren(_Attachment):
            earlier.setParent(None)
            earlier.deleteLater()
        super().__init__(target)
        self._icons = icons
        self._target = target
        self._name: IconName = name
        self._role: Role = role
        self._size = size
        icons.loaded.connect(self._update)
        icons.theme.changed.connect(self._update)
        self._update()

    def _update(self) -> None:
        self._target.setIcon(self._icons.icon(self._name, self._role, size=self._size))


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
