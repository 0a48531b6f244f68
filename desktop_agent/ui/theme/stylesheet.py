"""The application's style sheet, written once from the tokens.

Widgets choose their style by dynamic properties: `setProperty("variant", "primary")` on a button, `setProperty("role",
"heading")` on a label.
"""

from string import Template

from desktop_agent.core.base.paths import resource_path
from desktop_agent.ui.theme.tokens import Height, Palette, Radius, TypeSize

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
