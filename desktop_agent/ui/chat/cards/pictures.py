"""The body of a call that shows pictures: small ones, each a button that opens it large."""

from functools import partial
from typing import ClassVar

from PySide6.QtCore import QRect, QSize

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.protocol.model import BlobRef
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat.cards.body import ToolBody, entry_of
from desktop_agent.ui.chat.cards.content import Content
from desktop_agent.ui.chat.cards.picture_button import MAX_HEIGHT, MAX_WIDTH, PictureButton
from desktop_agent.ui.chat.cards.picture_reader import CardPicture, read_picture
from desktop_agent.ui.chat.cards.source import CardLoader, CardSource
from desktop_agent.ui.chat.entries.base import EntryWidget
from desktop_agent.ui.chat.flow import flow
from desktop_agent.ui.chat.transcript.row_state import RowState

_MOST = 12
_SCALE = 2
"""Small pictures are decoded for screens with this many pixels to the point."""


class PicturesBody(ToolBody):
    """Small pictures."""

    ground: ClassVar[str] = "surface"
    is_result: ClassVar[bool] = True

    def __init__(self, card: EntryWidget, loader: CardLoader | None) -> None:
        super().__init__(card, loader)
        self._buttons: list[PictureButton] = []
        result = entry_of(self.row).result
        for ref in result.images[:_MOST] if result is not None else ():
            button = PictureButton(ref, entry_of(self.row).title, self.styles, card)
            button.hide()
            button.clicked.connect(self._on_clicked)
            self._buttons.append(button)
        self._show_pictures()
        self.changed.connect(self._show_pictures)

    @classmethod
    def fits(cls, entry: ToolEntry) -> bool:
        return entry.result is not None and bool(entry.result.images)

    @classmethod
    def read(cls, row: RowState) -> Content:
        return Content()

    @property
    def has_widgets(self) -> bool:
        return bool(self._buttons)

    def set_shown(self, *, is_shown: bool) -> None:
        for button in self._buttons:
            button.setVisible(is_shown)

    def place(self, area: QRect) -> int:
        for button in self._buttons:
            button.set_room(area.width())
        return flow(self._buttons, area)

    # -- loading --

    def load(self) -> None:
        for button in self._buttons:
            self.fetch(_key(button.ref.blob), partial(_read, button.ref))

    def _show_pictures(self) -> None:
        for button in self._buttons:
            loaded = self.row.loaded.get(_key(button.ref.blob))
            if isinstance(loaded, CardPicture):
                button.show_picture(loaded)
            elif isinstance(loaded, AgentError):
                button.show_problem(loaded.title)

    def _on_clicked(self) -> None:
        button = self.sender()
        if isinstance(button, PictureButton):
            self.actions.picture_requested.emit(button.ref, entry_of(self.row))


async def _read(ref: BlobRef, source: CardSource) -> CardPicture:
    import asyncio

    most = QSize(MAX_WIDTH * _SCALE, MAX_HEIGHT * _SCALE)
    return await asyncio.to_thread(read_picture, await source.blob(ref), most)


def _key(digest: str) -> str:
    return f"picture:{digest}"
