"""Keeps what is pasted into the message and is a picture, or too much text, and mentions it there."""

import asyncio
from collections.abc import Callable

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QObject, QSize, Qt
from PySide6.QtGui import QImage, QImageWriter

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import UsageError

LONGEST_SIDE = 2_000
"""Of a picture, in pixels. Models look at no more, so a larger one is scaled."""

_MOST_BYTES = 3_900_000
_QUALITY = 85


class Pasting(QObject):
    """Follows the message field."""

    def __init__(self, panels: WindowPanels, bench: Workbench, clock: Clock, try_: Try) -> None:
        super().__init__(panels.window)
        self._mentions = panels.composer.mentions
        self._bench = bench
        self._clock = clock
        self._try = try_
        self._keeping = asyncio.Lock()
        panels.composer.edit.picture_given.connect(self._on_picture)
        panels.composer.edit.long_text_given.connect(self._on_text)

    def _on_picture(self, picture: QImage) -> None:
        self._try(self._mention(lambda: ("picture", *_encoded(picture))))

    def _on_text(self, text: str) -> None:
        self.mention_text(text, "text")

    def mention_text(self, text: str, kind: str) -> None:
        """Keep a text that does not come from a clipboard, and mention it; `kind` is what its name begins with."""
        self._try(self._mention(lambda: (kind, text.encode("utf-8", "replace"), "txt")))

    async def _mention(self, content: Callable[[], tuple[str, bytes, str]]) -> None:
        """Keep a content and mention it where the cursor is. Raises `UsageError` and `StorageError`."""

        def kept() -> str:
            from desktop_agent.core.mentions.pasted import PastedContents

            kind, data, suffix = content()
            return PastedContents.of(self._bench.paths).keep(data, kind, suffix, self._clock.now())

        async with self._keeping:  # what is pasted at once comes in this order, each by a name of its own
            self._mentions.insert_pasted(await asyncio.to_thread(kept))


def _encoded(picture: QImage) -> tuple[bytes, str]:
    """Return a picture as models take it, and the suffix of its format. For a thread. Raises `UsageError`."""
    if picture.isNull():
        raise UsageError(
            "What was pasted is no picture that can be read.", hint="Save it as a file, and drop that here."
        )
    if max(picture.width(), picture.height()) > LONGEST_SIDE:
        size = QSize(LONGEST_SIDE, LONGEST_SIDE)
        smooth = Qt.TransformationMode.SmoothTransformation
        picture = picture.scaled(size, Qt.AspectRatioMode.KeepAspectRatio, smooth)
    content = _saved(picture, b"PNG", -1)
    return (content, "png") if len(content) <= _MOST_BYTES else (_saved(picture, b"JPG", _QUALITY), "jpg")


def _saved(picture: QImage, form: bytes, quality: int) -> bytes:
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QImageWriter(buffer, QByteArray(form))
    writer.setQuality(quality)
    writer.write(picture)
    return bytes(data.data())
