"""Previews, pasted contents and spell checking for the composer."""

import asyncio
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QLocale, QSize, Qt
from PySide6.QtGui import QImage, QImageWriter

from desktop_agent.app.content_windows import ContentWindows
from desktop_agent.app.controller import Controller, WindowContext, in_background
from desktop_agent.app.navigator import Navigator
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import StorageError, UsageError
from desktop_agent.core.mentions.prompts import PastedContents
from desktop_agent.core.spelling import Speller, open_speller
from desktop_agent.core.store.journal.lines import open_regular
from desktop_agent.core.tools.output import LARGEST_PICTURE_BYTES
from desktop_agent.core.tools.output import LONGEST_SIDE as LONGEST_SIDE_SENT
from desktop_agent.ui.chat.attached_contents import THUMBNAIL, ContentPreview
from desktop_agent.ui.chat.composer.field_offers import MentionedContent
from desktop_agent.ui.chat.composer.spelling_marks import SpellingMarks
from desktop_agent.ui.widgets.picture_decoding import DecodedPicture, decode

_MOST_READ_BYTES = 32 * 2**20


class ContentPreviews(Controller):
    def __init__(self, context: WindowContext, navigator: Navigator, windows: ContentWindows) -> None:
        super().__init__(context)
        self._contents = self._panels.composer.contents
        self._navigator = navigator
        self._windows = windows
        self._contents.wanted.connect(in_background(self._launch, self._preview))
        self._contents.opened.connect(in_background(self._launch, self._open))
        navigator.workspace_changed.connect(self._contents.look_again)

    async def _preview(self, content: MentionedContent) -> None:
        workspace = self._navigator.workspace
        preview = await asyncio.to_thread(self._read_preview, content, workspace)
        if workspace == self._navigator.workspace:
            self._contents.show(content, preview)

    async def _open(self, content: MentionedContent) -> None:
        read = await asyncio.to_thread(self._read, content, self._navigator.workspace)
        if read is not None and read[0]:
            await self._windows.show_draft_content(content.name, read[0], is_picture=content.is_picture)

    def _read_preview(self, content: MentionedContent, workspace: Path | None) -> ContentPreview | None:
        read = self._read(content, workspace)
        if read is None:
            return None
        data, size = read
        if not content.is_picture:
            return ContentPreview(size)
        picture = DecodedPicture.without("too large" if size else "damaged")
        if data:
            picture = decode(data, THUMBNAIL, with_drawings=False)
        sides = picture.size.width(), picture.size.height()
        is_too_large = not content.is_pasted and (size > LARGEST_PICTURE_BYTES or max(sides) > LONGEST_SIDE_SENT)
        return ContentPreview(size, picture, is_too_large=is_too_large)

    def _read(self, content: MentionedContent, workspace: Path | None) -> tuple[bytes, int] | None:
        """Return the bytes of a content (empty if too large) and its size; `None` if unreadable. Blocks."""
        try:
            if content.is_pasted:
                data = PastedContents.of(self._bench.paths).read(content.name)
                return data, len(data)
            if workspace is None or "\0" in content.name:
                return None
            root = workspace.resolve()
            place = (root / content.name).resolve()
            if not place.is_relative_to(root):
                return None  # sending the message reports this
            with open_regular(place) as file:
                size = os.fstat(file.fileno()).st_size  # of the opened file: the name may be another file by now
                return (file.read(_MOST_READ_BYTES) if size <= _MOST_READ_BYTES else b""), size
        except (OSError, UsageError, StorageError):
            return None


LONGEST_SIDE = 2_000
"""In pixels. Models use no more than this, so larger pictures are scaled down."""

_MOST_BYTES = 3_900_000
_QUALITY = 85


class Pasting(Controller):
    """Stores pasted pictures and long texts as files, and mentions the files in the message."""

    def __init__(self, context: WindowContext) -> None:
        super().__init__(context)
        self._keeping = asyncio.Lock()
        self._panels.composer.edit.picture_given.connect(self._on_picture)
        self._panels.composer.edit.long_text_given.connect(partial(self.mention_text, kind="text"))

    def _on_picture(self, picture: QImage) -> None:
        self._launch(self._mention(lambda: ("picture", *_encoded(picture))))

    def mention_text(self, text: str, kind: str) -> None:
        self._launch(self._mention(lambda: (kind, text.encode("utf-8", "replace"), "txt")))

    async def _mention(self, content: Callable[[], tuple[str, bytes, str]]) -> None:
        """Store the content, and mention it in the message. Raises `UsageError` and `StorageError`."""

        def kept() -> str:
            kind, data, suffix = content()
            return PastedContents.of(self._bench.paths).keep(data, kind, suffix, SystemClock().now())

        async with self._keeping:  # files pasted together keep this order, and each gets its own name
            self._panels.composer.mentions.insert_pasted(await asyncio.to_thread(kept))


def _encoded(picture: QImage) -> tuple[bytes, str]:
    """Return a picture in a format that models accept, and its suffix. Call this in a thread. Raises `UsageError`."""
    if picture.isNull():
        raise UsageError("What was pasted is not a readable picture.", hint="Save it as a file, and drop that here.")
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


T = TypeVar("T")


class SpellChecking(Controller):
    def __init__(self, context: WindowContext) -> None:
        super().__init__(context)
        self._live = self._bench.live
        self._languages = QLocale.system().uiLanguages()
        self._speller: Speller | None = None
        self._is_opened = False
        self._turn = asyncio.Lock()
        """Held while a thread uses the speller, which two threads must not use at once."""
        self._marks = SpellingMarks(self._panels.composer.edit, self._theme)
        self._marks.unknown_met.connect(in_background(self._launch, self._look_up))
        self._marks.suggestions_wanted.connect(in_background(self._launch, self._suggest))
        self._marks.learned.connect(in_background(self._launch, self._learn))
        self._unsubscribe = self._live.subscribe(self._follow_setting)
        self._panels.window.destroyed.connect(self._unsubscribe)
        self._follow_setting()

    def _follow_setting(self) -> None:
        self._marks.set_on(is_on=self._live.current.ui.spelling)

    async def _look_up(self, words: frozenset[str]) -> None:
        misspelled = await self._ask(lambda speller: speller.misspelled(words), frozenset[str]())
        self._marks.take(words, misspelled)

    async def _suggest(self, word: str) -> None:
        self._marks.offer(word, await self._ask(lambda speller: speller.suggestions(word), ()))

    async def _learn(self, word: str) -> None:
        await self._ask(lambda speller: speller.learn(word), None)
        self._marks.take(frozenset({word}), frozenset())

    async def _ask(self, ask: Callable[[Speller], T], otherwise: T) -> T:
        async with self._turn:
            if not self._is_opened:
                self._speller = await asyncio.to_thread(open_speller, self._languages)
                self._is_opened = True
            return otherwise if self._speller is None else await asyncio.to_thread(ask, self._speller)
