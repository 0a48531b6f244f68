"""Reads the pictures and pasted contents that a draft mentions, for the chips in the composer."""

import asyncio
import os
from pathlib import Path

from PySide6.QtCore import QObject

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.content_windows import ContentWindows
from desktop_agent.app.navigator import Navigator
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import StorageError, UsageError
from desktop_agent.ui.chat.composer.attached_contents import ContentPreview
from desktop_agent.ui.chat.composer.mention_offers import MentionedContent
from desktop_agent.ui.chat.content_chip import THUMBNAIL, CardPicture, read_picture

_MOST_READ_BYTES = 32 * 2**20
"""Of a file. Of a larger one only its size is said."""


class ContentPreviews(QObject):
    """Answers the composer. Contents are read and made small in threads."""

    def __init__(
        self, panels: WindowPanels, bench: Workbench, navigator: Navigator, windows: ContentWindows, try_: Try
    ) -> None:
        """`windows` shows one large."""
        super().__init__(panels.window)
        self._contents = panels.composer.contents
        self._bench = bench
        self._navigator = navigator
        self._windows = windows
        self._try = try_
        self._contents.wanted.connect(self._on_wanted)
        self._contents.opened.connect(self._on_opened)
        navigator.workspace_changed.connect(self._contents.look_again)

    def _on_wanted(self, content: MentionedContent) -> None:
        self._try(self._preview(content))

    def _on_opened(self, content: MentionedContent) -> None:
        self._try(self._open(content))

    async def _preview(self, content: MentionedContent) -> None:
        workspace = self._navigator.workspace
        preview = await asyncio.to_thread(self._read_preview, content, workspace)
        if workspace == self._navigator.workspace:
            self._contents.show(content, preview)

    async def _open(self, content: MentionedContent) -> None:
        read = await asyncio.to_thread(self._read, content, self._navigator.workspace)
        if read is not None and read[0]:
            self._windows.show_draft_content(content.name, read[0], is_picture=content.is_picture)

    def _read_preview(self, content: MentionedContent, workspace: Path | None) -> ContentPreview | None:
        from desktop_agent.core.tools.servers.results import LARGEST_PICTURE_BYTES, LONGEST_SIDE

        read = self._read(content, workspace)
        if read is None:
            return None
        data, size = read
        if not content.is_picture:
            return ContentPreview(size)
        picture = read_picture(data, THUMBNAIL) if data else CardPicture.without("too large" if size else "damaged")
        sides = picture.size.width(), picture.size.height()
        is_too_large = not content.is_pasted and (size > LARGEST_PICTURE_BYTES or max(sides) > LONGEST_SIDE)
        return ContentPreview(size, picture, is_too_large=is_too_large)

    def _read(self, content: MentionedContent, workspace: Path | None) -> tuple[bytes, int] | None:
        """Return a content, which is empty where it is too much, and its size; None where there is none. Blocks."""
        from desktop_agent.core.mentions.pasted import PastedContents
        from desktop_agent.core.store.journal.lines import open_regular

        try:
            if content.is_pasted:
                data = PastedContents.of(self._bench.paths).read(content.name)
                return data, len(data)
            if workspace is None or "\0" in content.name:
                return None
            root = workspace.resolve()
            place = (root / content.name).resolve()
            if not place.is_relative_to(root):
                return None  # that is said when the message is sent
            with open_regular(place) as file:
                size = os.fstat(file.fileno()).st_size  # of what was opened: the name may lead elsewhere by now
                return (file.read(_MOST_READ_BYTES) if size <= _MOST_READ_BYTES else b""), size
        except (OSError, UsageError, StorageError):
            return None
