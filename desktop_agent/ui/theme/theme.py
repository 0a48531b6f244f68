"""The theme in use: widgets read colours and fonts from it and repaint on `changed`.

Its style sheet is written once from the tokens. Widgets choose their style by dynamic properties:
`setProperty("variant", "primary")` on a button, `setProperty("role", "heading")` on a label.
"""

from collections.abc import Iterable
from functools import cache
from string import Template
from typing import Literal

from PySide6.QtCore import QObject, QSettings, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from desktop_agent.core.base.paths import resource_path
from desktop_agent.ui.theme.tokens import (
    DARK,
    HIGH_CONTRAST_DARK,
    HIGH_CONTRAST_LIGHT,
    LIGHT,
    Density,
    Height,
    MotionChoice,
    Palette,
    Radius,
    TextSizes,
    TypeSize,
    Wishes,
    colour_blind_safe,
)

_SHEET = Template("""
QMainWindow, QDockWidget > QWidget { background: $bg; }
QDialog { background: $surface; }
QWidget#topBar { background: $bg; border-bottom: 1px solid $border; }
QFrame[role="hairline"] { background: $border; border: none; }
QLabel[role="heading"] { color: $muted; font-size: ${head}px; font-weight: 600; }
QLabel[role="title"] { font-size: ${title}px; font-weight: 600; }
QLabel[role="secondary"] { color: $muted; font-size: ${secondary}px; }
QLabel[role="hint"] { color: $faint; }
QLabel[role="tag"] {
  color: $warning_text; background: $warning_bg; border: 1px solid $warning_border; border-radius: 4px;
  padding: 1px 6px; font-size: ${head}px;
}
QFrame[role="banner"] { background: $warning_bg; border: none; border-bottom: 1px solid $warning_border; }
QFrame[role="bar"] { background: $bg; border: none; border-bottom: 1px solid $border; }
QFrame[role="drawer"] { background: $bg; border: 1px solid $border_strong; }
QLabel[role="code"] { background: $sunken; border-radius: ${control}px; }
QWidget[role="surface"] { background: $surface; }
QLabel[role="strong"], QLabel#qt_msgbox_label { font-weight: 600; }
QLabel[role="good"] { color: $added_text; }
QLabel[role="error"] { color: $danger_text; }
QLabel[role="warning"] { color: $warning_text; }
QLabel[note="true"][role="good"], QLabel[note="true"][role="error"], QLabel[note="true"][role="warning"] {
  font-size: ${secondary}px;
}

QPushButton, QToolButton {
  background: $surface; color: $text; border: 1px solid $border; border-radius: ${control}px;
  padding: 0 10px; min-height: ${button}px; font-size: ${secondary}px; outline: none;
}
QPushButton:hover, QToolButton:hover { background: $sunken; }
QPushButton:pressed, QToolButton:pressed { background: $border; }
QPushButton:disabled, QToolButton:disabled { color: $faint; background: $bg; }
QPushButton:focus, QToolButton:focus { border: 2px solid $accent; padding: 0 9px; }
QPushButton:checked { background: $accent_weak; color: $accent_text; border-color: $accent; }
QPushButton:checked:focus { border: 2px solid $accent; }
QPushButton[variant="primary"] { background: $accent; color: $on_accent; border-color: $accent; font-weight: 600; }
QPushButton[variant="primary"]:hover { background: $accent_text; border-color: $accent_text; color: $surface; }
QPushButton[variant="primary"]:focus { border: 2px solid $text; }
QPushButton[variant="primary"]:disabled { background: $border; color: $muted; border-color: $border; }
QPushButton[variant="destructive"] { color: $danger_text; }
QPushButton[variant="good"] { color: $added_text; }
QPushButton[variant="destructive"]:disabled, QPushButton[variant="good"]:disabled { color: $faint; }
QPushButton[variant="flat"], QToolButton[variant="flat"] {
  background: transparent; border-color: transparent; color: $muted;
}
QPushButton[variant="flat"]:hover, QToolButton[variant="flat"]:hover { background: $sunken; color: $text; }
QPushButton[variant="flat"]:checked { background: $accent_weak; color: $accent_text; }
QPushButton[variant="flat"]:focus, QToolButton[variant="flat"]:focus { border: 2px solid $accent; }
QPushButton[variant="flat"]:disabled, QToolButton[variant="flat"]:disabled { color: $faint; background: transparent; }
QPushButton[variant="warning"], QToolButton[variant="warning"] {
  background: $warning_bg; color: $warning_text; border-color: $warning_border; font-weight: 600;
}
QPushButton[compact="true"], QToolButton[compact="true"] { min-height: ${small_button}px; padding: 0 8px; }
QPushButton[compact="true"]:focus, QToolButton[compact="true"]:focus { padding: 0 7px; }
QPushButton[compact="true"][edge="true"], QPushButton[compact="true"][edge="true"]:focus { padding-left: 0; }
QPushButton::menu-indicator, QToolButton::menu-indicator { image: none; width: 0; }

QLineEdit, QPlainTextEdit, QTextEdit, QComboBox {
  background: $surface; color: $text; border: 1px solid $control_border; border-radius: ${control}px;
  padding: 4px 8px; selection-background-color: $accent; selection-color: $on_accent;
}
QLineEdit, QPlainTextEdit, QTextEdit { placeholder-text-color: $muted; }
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QComboBox:focus { border: 2px solid $accent; padding: 3px 7px; }
QLineEdit:disabled, QComboBox:disabled { color: $muted; background: $bg; }
QLineEdit > QToolButton, QLineEdit > QToolButton:hover, QLineEdit > QToolButton:pressed {
  background: transparent; border: none; min-height: 0; padding: 0;
}
QPlainTextEdit[variant="bare"], QPlainTextEdit[variant="bare"]:focus, QTextEdit[variant="bare"],
QTextEdit[variant="bare"]:focus {
  background: transparent; border: none; padding: 0;
}
QComboBox { min-height: 18px; padding: 5px 20px 3px 10px; font-size: ${secondary}px; combobox-popup: 0; }
QComboBox:focus { padding: 4px 19px 2px 9px; }
QComboBox:editable { padding: 4px 20px 4px 8px; }
QComboBox:editable:focus { padding: 3px 19px 3px 7px; }
QComboBox::drop-down { border: none; width: 18px; }
QComboBox QAbstractItemView { background: $surface; border: 1px solid $border_strong; padding: 4px; }
QComboBox QAbstractItemView::item { padding: 0 3px; }

QTreeView, QListView {
  background: transparent; border: none; outline: none;
  selection-background-color: $accent_weak; selection-color: $accent_text;
}
QListView[variant="boxed"] { border: 1px solid $border; border-radius: ${control}px; padding: 3px; }
QListView[variant="boxed"]:focus { border: 2px solid $accent; padding: 2px; }
QTreeView::item, QListView::item { min-height: ${list_row}px; border-radius: ${control}px; }
QTreeView::item:hover, QListView::item:hover { background: $sunken; }
QTreeView::item:selected, QListView::item:selected { background: $accent_weak; color: $accent_text; }
QTreeView::indicator, QCheckBox::indicator {
  width: 13px; height: 13px; background: $surface; border: 1px solid $control_border; border-radius: 3px;
}
QTreeView::indicator:checked, QCheckBox::indicator:checked { image: url("$tick"); }
QTreeView::indicator:indeterminate { background: $accent_weak; border-color: $accent; }
QTreeView::indicator:disabled, QCheckBox::indicator:disabled { border-color: $border; }
QTableView {
  background: transparent; border: none; outline: none;
  selection-background-color: transparent; /* its delegates draw rounded rows */
}
QHeaderView, QHeaderView::section { background: $surface; color: $muted; border: none; font-size: ${head}px; }
QHeaderView::section { padding: 0 11px; border-bottom: 1px solid $border_strong; font-weight: 600; }
QHeaderView::section:hover { color: $text; }
QProgressBar#usageProgress { background: $border; border: none; border-radius: 2px; }
QProgressBar#usageProgress::chunk { background: $accent; border-radius: 2px; }

QMenu { background: $surface; border: 1px solid $border_strong; border-radius: ${control}px; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 12px; border-radius: 4px; }
QMenu::item:selected { background: $accent_weak; color: $accent_text; }
QMenu::item:disabled { color: $faint; }
QMenu::indicator { width: 12px; height: 12px; left: 6px; }
QMenu::indicator:checked { image: url("$tick"); } /* the style's own mark is drawn without smoothing */
QMenu::separator { height: 1px; background: $border; margin: 4px 8px; }
QToolTip { background: $surface; color: $text; border: 1px solid $border_strong; padding: 4px 6px; }

QFileDialog QToolButton, QFileDialog QToolButton:focus { padding: 0; } /* Qt makes them square */

QTabBar { background: $bg; }
QTabBar::tab {
  background: transparent; color: $muted; border: none; border-bottom: 2px solid transparent;
  padding: 0 4px 0 12px; min-height: 32px; font-size: ${secondary}px;
}
QTabBar::tab:hover { color: $text; }
QTabBar::tab:selected { color: $text; background: $surface; border-bottom-color: $accent; }
QTabBar::tab:selected:focus { background: $accent_weak; }
QTabBar::tear { width: 0; }
QTabBar::scroller { width: 40px; }
QToolButton[variant="tab"] {
  background: transparent; border: none; color: $muted; min-height: 18px; padding: 0 4px; font-size: ${head}px;
}
QToolButton[variant="tab"]:hover { background: $sunken; color: $text; }

QSplitter::handle { background: $border; }
QSplitter::handle:horizontal { width: 1px; }
QSplitter::handle:vertical { height: 1px; }
QMainWindow::separator { background: $border; width: 1px; height: 1px; }
QMainWindow::separator:hover { background: $accent; }

QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: $border_strong; border-radius: 3px; margin: 2px; }
QScrollBar::handle:hover { background: $faint; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
""")

_HIGH_CONTRAST_SHEET = Template("""
QTreeView::item:selected, QListView::item:selected, QMenu::item:selected { border: 1px solid $accent; }
QTabBar::tab:selected { border: 1px solid $border; border-bottom: 3px solid $accent; }
QPushButton:hover, QToolButton:hover { border-color: $text; }
QPushButton:pressed, QToolButton:pressed { background: $sunken; border: 2px solid $text; padding: 0 9px; }
QPushButton:disabled, QToolButton:disabled { border-style: dashed; }
QPushButton[variant="primary"]:disabled { background: $bg; color: $faint; border: 1px dashed $border; }
QPushButton:focus, QToolButton:focus { border: 3px solid $accent; padding: 0 8px; }
QPushButton[variant="flat"]:focus, QToolButton[variant="flat"]:focus { border: 3px solid $accent; }
QPushButton[compact="true"]:focus, QToolButton[compact="true"]:focus { padding: 0 6px; }
""")
"""The additional rules for high contrast: borders where the other themes have only a background colour."""


def style_sheet(colours: Palette, growth: float = 1) -> str:
    values: dict[str, object] = {
        **colours._asdict(),
        "head": round(TypeSize.HEAD * growth),
        "secondary": round(TypeSize.SECONDARY * growth),
        "title": round(TypeSize.TITLE * growth),
        "control": Radius.CONTROL,
        "button": Height.BUTTON - 2,
        "small_button": Height.SMALL_BUTTON - 2,
        "list_row": Height.LIST_ROW,
        "tick": resource_path("ticks", f"{'dark' if colours.is_dark else 'light'}.svg").as_posix(),
    }
    sheets = [_SHEET, _HIGH_CONTRAST_SHEET] if colours.is_high_contrast else [_SHEET]
    return "".join(sheet.substitute(values) for sheet in sheets)


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
        sheet = style_sheet(self.colours, self._growth)
        if sheet != self._app.styleSheet():  # Qt would polish every widget again, 50 ms of a test's window
            self._app.setStyleSheet(sheet)

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
