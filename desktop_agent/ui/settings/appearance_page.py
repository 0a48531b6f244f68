"""The section about the looks: theme, diff colours, sizes of type."""

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Signal

from desktop_agent.ui.picker import Picker
from desktop_agent.ui.settings.parts import Page, form, name_of, note, pick, picker

if TYPE_CHECKING:
    from desktop_agent.core.settings import UiSettings

_TEXT_SIZES: Final = (11, 12, 13, 14, 15, 16, 18, 20)
_DIFF_SIZES: Final = (10.0, 10.5, 11.0, 11.5, 12.0, 12.5, 13.0, 14.0, 16.0, 18.0)


class AppearancePage(Page):
    """Theme, colours, sizes. Everything applies at once.

    Signals:
        changed: a setting (its dotted name) is to have this value.
    """

    changed = Signal(str, object)

    def __init__(self) -> None:
        super().__init__(self.tr("Appearance"))
        self._theme = picker(
            self.tr("Theme"),
            [(self.tr("As the system"), "system"), (self.tr("Light"), "light"), (self.tr("Dark"), "dark")],
        )
        self._is_safe = picker(
            self.tr("Diff colours"), [(self.tr("Green and red"), False), (self.tr("Blue and orange"), True)]
        )
        self._is_safe.setObjectName("diffColoursPicker")
        self._chat = _size_picker(self.tr("Size of chat text"), _TEXT_SIZES)
        self._code = _size_picker(self.tr("Size of code"), _TEXT_SIZES)
        self._diff = _size_picker(self.tr("Size of diffs"), _DIFF_SIZES)
        self._lay_out()
        self._connect()

    def show_settings(self, settings: "UiSettings") -> None:
        """Show what is in force."""
        pick(self._theme, settings.theme)
        pick(self._is_safe, settings.colour_blind_safe_diff)
        pick(self._chat, settings.chat_font_px)
        pick(self._code, settings.code_font_px)
        pick(self._diff, settings.diff_font_px)

    def _lay_out(self) -> None:
        rows = form()
        rows.addRow(name_of(self.tr("Theme")), self._theme)
        rows.addRow(name_of(self.tr("Diff colours")), self._is_safe)
        rows.addRow(name_of(self.tr("Chat text")), self._chat)
        rows.addRow(name_of(self.tr("Code")), self._code)
        rows.addRow(name_of(self.tr("Diffs")), self._diff)
        self.column.addLayout(rows)
        self.column.addWidget(
            note(
                self.tr(
                    "Blue and orange help who confuses green and red. Sizes are in pixels, before the scaling of "
                    "your screen."
                )
            )
        )
        self.column.addStretch()

    def _connect(self) -> None:
        self._theme.currentIndexChanged.connect(self._on_theme)
        self._is_safe.currentIndexChanged.connect(self._on_safe)
        self._chat.currentIndexChanged.connect(self._on_chat)
        self._code.currentIndexChanged.connect(self._on_code)
        self._diff.currentIndexChanged.connect(self._on_diff)

    def _on_theme(self) -> None:
        self.changed.emit("ui.theme", self._theme.currentData())

    def _on_safe(self) -> None:
        self.changed.emit("ui.colour_blind_safe_diff", self._is_safe.currentData())

    def _on_chat(self) -> None:
        self.changed.emit("ui.chat_font_px", self._chat.currentData())

    def _on_code(self) -> None:
        self.changed.emit("ui.code_font_px", self._code.currentData())

    def _on_diff(self) -> None:
        self.changed.emit("ui.diff_font_px", self._diff.currentData())


def _size_picker(name: str, sizes: tuple[float, ...]) -> Picker:
    return picker(name, [(f"{size:g}", size) for size in sizes])
