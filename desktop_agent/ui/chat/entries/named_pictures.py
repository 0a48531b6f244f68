"""The pictures that an answer names, each below its link once the user clicks that; another click closes it."""

from collections import Counter
from functools import partial
from urllib.parse import unquote

from PySide6.QtCore import QObject, QPoint, Qt, Signal

from desktop_agent.ui.chat.cards.result_pictures import DECODED, PictureButton
from desktop_agent.ui.chat.cards.tool_body import CardLoader, CardSource, decoded
from desktop_agent.ui.chat.entries.entry import EntryWidget
from desktop_agent.ui.chat.markdown.inline import PICTURE, is_web_address
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.layouts import discard
from desktop_agent.ui.widgets.picture_decoding import DecodedPicture


class NamedPictures(QObject):
    changed = Signal(bool)  # one came, went or was loaded: whether the user opened or closed it

    def __init__(self, entry: EntryWidget, loader: CardLoader | None) -> None:
        super().__init__(entry)
        self._entry = entry
        self._row = entry.row
        self._loader = loader
        self._shown: dict[tuple[int, str], PictureButton] = {}
        for opened in self._row.opened:
            index, _, address = opened.removeprefix(PICTURE).partition(":")
            if opened.startswith(PICTURE):
                self._open(int(index), address)

    def toggle(self, address: str) -> None:
        column = self._entry.column
        places = [index for index, span in column.links() if span.href == PICTURE + address]
        shown = [key for key in self._shown if key[1] == address]
        for index, _ in shown:
            discard(self._shown.pop((index, address)))
            self._row.opened.discard(f"{PICTURE}{index}:{address}")
            column.set_room(index, 0)
        if shown:
            self._row.loaded.pop(PICTURE + address, None)
        elif places:
            self._row.opened.add(f"{PICTURE}{places[0]}:{address}")
            self._open(places[0], address)
        self.changed.emit(True)

    def fit(self) -> None:
        column, heights = self._entry.column, Counter[int]()
        for (index, _), button in self._shown.items():
            button.room = max(1, column.room(index).width())
            heights[index] += Space.S + button.sizeHint().height()
        for index, height in heights.items():
            column.set_room(index, height)

    def place(self, origin: QPoint) -> None:
        column, used = self._entry.column, Counter[int]()
        places = {(index, span.href): at for at, (index, span) in enumerate(reversed(column.links()))}
        for index, address in sorted(self._shown, key=lambda key: -places.get((key[0], PICTURE + key[1]), 0)):
            button = self._shown[index, address]
            size = button.sizeHint()
            area = column.room(index).translated(origin)
            button.setGeometry(area.x(), area.y() + used[index] + Space.S, size.width(), size.height())
            used[index] += Space.S + size.height()
            button.setVisible(self._entry.is_column_shown and index < len(column.text.blocks))

    def _open(self, index: int, address: str) -> None:
        button = PictureButton(unquote(address), self._entry.styles, self._entry)
        button.setObjectName("namedPictureButton")
        actions = self._entry.entry_actions
        if is_web_address(address):
            button.setToolTip(self.tr("Open in the browser"))
            button.clicked.connect(partial(actions.link_activated.emit, address))
        else:
            button.setToolTip(self.tr("Open the file"))
            button.clicked.connect(partial(actions.file_requested.emit, unquote(address), 0))
        self._shown[index, address] = button
        key, loader = PICTURE + address, self._loader
        if key in self._row.loaded:
            self._show(button, key)
        elif loader is not None:
            work = self._read(loader.source, address)
            loader.fetch(self._row, key, work, button, partial(self._on_loaded, button, key))

    async def _read(self, source: CardSource, address: str) -> DecodedPicture:
        content = await source.named_picture(self._entry.styles.files.root, address)
        return await decoded(content, DECODED)

    def _on_loaded(self, button: PictureButton, key: str) -> None:
        self._show(button, key)
        self.changed.emit(False)

    def _show(self, button: PictureButton, key: str) -> None:
        button.show_loaded(self._row.loaded[key])
        button.setEnabled(True)  # what cannot be shown here may be shown elsewhere
        button.setCursor(Qt.CursorShape.PointingHandCursor)
