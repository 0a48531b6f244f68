"""The theme in use: widgets read colours and fonts from it and repaint on `changed`."""

from collections.abc import Iterable
from functools import cache
from typing import Literal

from PySide6.QtCore import QObject, QSettings, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from desktop_agent.core.base.paths import resource_path
from desktop_agent.ui.theme.stylesheet import style_sheet
from desktop_agent.ui.theme.tokens import (
    DARK,
    HIGH_CONTRAST_DARK,
    HIGH_CONTRAST_LIGHT,
    LIGHT,
    Density,
    MotionChoice,
    Palette,
    TextSizes,
    TypeSize,
    Wishes,
    colour_blind_safe,
)


@cache
def shipped_families() -> frozenset[str]:
    """Load the shipped fonts, which takes 5 ms once, and return their families. Needs the application object."""
    loaded = (QFontDatabase.addApplicationFont(str(file)) for file in sorted(resource_path("fonts").glob("*.ttf")))
    return frozenset(family for number in loaded for family in QFontDatabase.applicationFontFamilies(number))


ThemeChoice = Literal["system", "light", "dark", "high-contrast-light", "high-contrast-dark"]

_FORCED: dict[ThemeChoice, Palette] = {
    "light": LIGHT,
    "dark": DARK,
    "high-contrast-light": HIGH_CONTRAST_LIGHT,
    "high-contrast-dark": HIGH_CONTRAST_DARK,
}

_TEXT_FAMILY = "Inter"
_CODE_FAMILY = "JetBrains Mono"
"""The font families that ship with the application. If their files are missing, the system's fonts are used."""


def last_interface_size(store: QSettings) -> float:
    kept = str(store.value("interface_px", ""))
    return float(kept) if kept.isdecimal() else TypeSize.BODY


def last_theme(store: QSettings) -> ThemeChoice:
    kept = store.value("theme")
    choices: Iterable[ThemeChoice] = _FORCED
    forced: ThemeChoice | None = next((choice for choice in choices if choice == kept), None)
    return forced or "system"


class Theme(QObject):
    """The colours, fonts and motion of the whole window. Follows the system unless the user forces a choice."""

    changed = Signal()  # caches of colours and fonts must be dropped
    motion_changed = Signal()

    def __init__(self, app: QApplication, choice: ThemeChoice = "system", interface_px: float = TypeSize.BODY) -> None:
        super().__init__(app)
        self._app = app
        self.choice: ThemeChoice = choice
        self._is_colour_blind_safe = False
        self._growth = interface_px / TypeSize.BODY
        self.sizes = TextSizes()
        self.density: Density = "comfortable"
        self._wishes = Wishes()
        self._motion: MotionChoice = "system"
        self.moves = True
        self.colours = self._resolve()
        hints = QGuiApplication.styleHints()
        hints.colorSchemeChanged.connect(self._on_system_changed)
        hints.accessibility().contrastPreferenceChanged.connect(self._on_system_changed)

    def colour(self, role: str) -> QColor:
        return QColor(getattr(self.colours, role))

    def text_font(self, size_px: float = TypeSize.BODY, *, grows: bool = True) -> QFont:
        """Return the font of texts. If `grows` is false, `size_px` is not scaled with the interface."""
        return _font(_TEXT_FAMILY, QFontDatabase.SystemFont.GeneralFont, self._grown(size_px) if grows else size_px)

    def strong_font(self, size_px: float = TypeSize.BODY, *, grows: bool = True) -> QFont:
        font = self.text_font(size_px, grows=grows)
        font.setWeight(QFont.Weight.DemiBold)
        return font

    def code_font(self, size_px: float = TypeSize.CODE, *, grows: bool = True) -> QFont:
        font = _font(_CODE_FAMILY, QFontDatabase.SystemFont.FixedFont, self._grown(size_px) if grows else size_px)
        font.setStyleHint(QFont.StyleHint.Monospace)
        # Ligatures would turn `!=` into one glyph.
        font.setFeature(QFont.Tag("calt"), 0)
        return font

    def choose(self, choice: ThemeChoice, *, is_colour_blind_safe: bool | None = None) -> None:
        """Force a theme, or follow the system again. If `is_colour_blind_safe` is None, the colours of diffs stay."""
        self.choice = choice
        if is_colour_blind_safe is not None:
            self._is_colour_blind_safe = is_colour_blind_safe
        self._update()

    def choose_sizes(self, sizes: TextSizes) -> None:
        if sizes != self.sizes:
            self.sizes = sizes
            self.changed.emit()

    def choose_interface_size(self, size_px: float) -> None:
        """Set the text size of names and controls. Existing widgets keep some of their fonts."""
        if size_px / TypeSize.BODY != self._growth:
            self._growth = size_px / TypeSize.BODY
            self.install()
            self.changed.emit()

    def choose_density(self, density: Density) -> None:
        if density != self.density:
            self.density = density
            self.changed.emit()

    def choose_motion(self, choice: MotionChoice) -> None:
        self._motion = choice
        self._update_motion()

    def follow_wishes(self, wishes: Wishes) -> None:
        """Apply the desktop's accessibility settings where the user has not chosen otherwise. Qt reads only some."""
        self._wishes = wishes
        self._on_system_changed()
        self._update_motion()

    def install(self) -> None:
        """Give the application this theme's palette, font and style sheet. Expects the Fusion style."""
        self._app.setFont(self.text_font())
        self._app.setPalette(_qt_palette(self.colours))
        self._app.setStyleSheet(style_sheet(self.colours, self._growth))

    def _grown(self, size_px: float) -> float:
        return size_px if self._growth == 1 else round(size_px * self._growth)

    def _resolve(self) -> Palette:
        if self.choice == "system":
            palette = _system_palette(is_high_contrast=self._wishes.high_contrast)
        else:
            palette = _FORCED[self.choice]
        return colour_blind_safe(palette) if self._is_colour_blind_safe else palette

    def _on_system_changed(self) -> None:
        if self.choice == "system":
            self._update()

    def _update_motion(self) -> None:
        moves = self._motion == "full" or (self._motion == "system" and not self._wishes.less_motion)
        if moves != self.moves:
            self.moves = moves
            self.motion_changed.emit()

    def _update(self) -> None:
        colours = self._resolve()
        if colours != self.colours:
            self.colours = colours
            self.install()
            self.changed.emit()


def _system_palette(*, is_high_contrast: bool) -> Palette:
    hints = QGuiApplication.styleHints()
    is_dark = hints.colorScheme() == Qt.ColorScheme.Dark
    if is_high_contrast or hints.accessibility().contrastPreference() == Qt.ContrastPreference.HighContrast:
        return HIGH_CONTRAST_DARK if is_dark else HIGH_CONTRAST_LIGHT
    return DARK if is_dark else LIGHT


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
    """Whether the typeface is installed. Cached, because Qt searches all typefaces and every painted row asks."""
    return family in shipped_families() or QFontDatabase.hasFamily(family)


def _qt_palette(colours: Palette) -> QPalette:
    palette = QPalette()
    roles = {
        QPalette.ColorRole.Window: colours.bg, QPalette.ColorRole.WindowText: colours.text,
        QPalette.ColorRole.Base: colours.surface, QPalette.ColorRole.AlternateBase: colours.sunken,
        QPalette.ColorRole.Text: colours.text, QPalette.ColorRole.PlaceholderText: colours.muted,
        QPalette.ColorRole.Button: colours.surface, QPalette.ColorRole.ButtonText: colours.text,
        QPalette.ColorRole.ToolTipBase: colours.surface, QPalette.ColorRole.ToolTipText: colours.text,
        QPalette.ColorRole.Highlight: colours.accent, QPalette.ColorRole.HighlightedText: colours.on_accent,
        QPalette.ColorRole.Link: colours.accent_text, QPalette.ColorRole.Accent: colours.accent,
    }  # fmt: skip
    for role, value in roles.items():
        palette.setColor(role, QColor(value))
    for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(colours.faint))
    return palette
