"""The theme in use: widgets read colours and fonts from it and repaint on `changed`."""

from typing import Literal

from PySide6.QtCore import QObject, QSettings, Qt, Signal
from PySide6.QtGui import QColor, QFont, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from desktop_agent.ui.theme import fonts
from desktop_agent.ui.theme.stylesheet import style_sheet
from desktop_agent.ui.theme.tokens import DARK, LIGHT, Palette, TextSizes, TypeSize, colour_blind_safe

ThemeChoice = Literal["system", "light", "dark"]


def last_theme(store: QSettings) -> ThemeChoice:
    """The choice that was in force when the window was open last."""
    match store.value("theme"):
        case "light":
            return "light"
        case "dark":
            return "dark"
        case _:
            return "system"


class Theme(QObject):
    """Colours and fonts of the whole window. Follows the system unless a choice is forced.

    Signals:
        changed: colours or fonts are different now; caches of either must be dropped.
    """

    changed = Signal()

    def __init__(
        self, app: QApplication, choice: ThemeChoice = "system", *, is_colour_blind_safe: bool = False
    ) -> None:
        super().__init__(app)
        self._app = app
        self._choice: ThemeChoice = choice
        self._is_colour_blind_safe = is_colour_blind_safe
        self._sizes = TextSizes()
        self._colours = self._resolve()
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._on_system_changed)

    @property
    def colours(self) -> Palette:
        """The colours by role."""
        return self._colours

    @property
    def choice(self) -> ThemeChoice:
        """What the user chose."""
        return self._choice

    @property
    def sizes(self) -> TextSizes:
        """How large the user wants to read."""
        return self._sizes

    def colour(self, role: str) -> QColor:
        """Return the colour of a role as Qt wants it: `theme.colour("accent")`."""
        return QColor(getattr(self._colours, role))

    def text_font(self, size_px: float = TypeSize.BODY) -> QFont:
        """Return the font for running text."""
        return fonts.text_font(size_px)

    def code_font(self, size_px: float = TypeSize.CODE) -> QFont:
        """Return the fixed-pitch font."""
        return fonts.code_font(size_px)

    def choose(self, choice: ThemeChoice, *, is_colour_blind_safe: bool | None = None) -> None:
        """Force a theme, or follow the system again; `None` leaves the colours of diffs as they are."""
        self._choice = choice
        if is_colour_blind_safe is not None:
            self._is_colour_blind_safe = is_colour_blind_safe
        self._update()

    def choose_sizes(self, sizes: TextSizes) -> None:
        """Set the text of chat, code and diffs in these sizes."""
        if sizes != self._sizes:
            self._sizes = sizes
            self.changed.emit()

    def install(self) -> None:
        """Give the application this theme's palette, font and style sheet. Its style should be Fusion."""
        self._app.setFont(self.text_font())
        self._app.setPalette(_qt_palette(self._colours))
        self._app.setStyleSheet(style_sheet(self._colours))

    def _resolve(self) -> Palette:
        is_dark = self._choice == "dark" or (
            self._choice == "system" and QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
        )
        palette = DARK if is_dark else LIGHT
        return colour_blind_safe(palette) if self._is_colour_blind_safe else palette

    def _on_system_changed(self) -> None:
        if self._choice == "system":
            self._update()

    def _update(self) -> None:
        colours = self._resolve()
        if colours != self._colours:
            self._colours = colours
            self.install()
            self.changed.emit()


def _qt_palette(colours: Palette) -> QPalette:
    palette = QPalette()
    roles = {
        QPalette.ColorRole.Window: colours.bg,
        QPalette.ColorRole.WindowText: colours.text,
        QPalette.ColorRole.Base: colours.surface,
        QPalette.ColorRole.AlternateBase: colours.sunken,
        QPalette.ColorRole.Text: colours.text,
        QPalette.ColorRole.PlaceholderText: colours.muted,
        QPalette.ColorRole.Button: colours.surface,
        QPalette.ColorRole.ButtonText: colours.text,
        QPalette.ColorRole.ToolTipBase: colours.surface,
        QPalette.ColorRole.ToolTipText: colours.text,
        QPalette.ColorRole.Highlight: colours.accent,
        QPalette.ColorRole.HighlightedText: colours.on_accent,
        QPalette.ColorRole.Link: colours.accent_text,
        QPalette.ColorRole.Accent: colours.accent,
    }
    for role, value in roles.items():
        palette.setColor(role, QColor(value))
    for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(colours.faint))
    return palette
