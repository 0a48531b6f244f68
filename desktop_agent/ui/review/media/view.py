"""A change that is not lines of text, shown as what it is: pictures, the cells of a notebook, facts about bytes."""

import asyncio
from functools import cached_property

from PySide6.QtWidgets import QStackedLayout, QWidget
from shiboken6 import isValid

from desktop_agent.core.diff.binary_files import HEAD_BYTES
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.media.binary_view import BinaryView
from desktop_agent.ui.review.media.image_view import ImageView
from desktop_agent.ui.review.media.kinds import MediaKind, media_kind
from desktop_agent.ui.theme import Theme


class MediaView(QWidget):
    """Shows one change at a time. What takes time happens in a thread; what comes too late is dropped."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("mediaView")
        self._theme = theme
        self._request = 0
        self._layout = QStackedLayout(self)

    def forget(self) -> None:
        """Drop what is on its way."""
        self._request += 1

    async def show_change(self, diff: FileDiff, before: bytes | None, after: bytes | None) -> MediaKind | None:
        """Show what became of a file (`None`: absent) and return as what.

        Returns `None`, and shows nothing new, when it is best shown as text, or when another change was asked for
        meanwhile.
        """
        self._request += 1
        request = self._request
        heads = [None if content is None else content[:HEAD_BYTES] for content in (before, after)]
        kind = media_kind(diff.path, *heads)
        if kind == "image" and not await self._show_pictures(request, before, after):
            # Nothing of it can be drawn; of a drawing, its text says more than its bytes.
            kind = "binary" if diff.is_binary else None
        if kind == "notebook" and not await self._show_notebook(request, diff, before, after):
            kind = None
        if kind == "binary":
            await self._show_facts(request, before, after)
        return kind if self._is_current(request) else None

    async def _show_pictures(self, request: int, before: bytes | None, after: bytes | None) -> bool:
        from desktop_agent.ui.review.media.decoding import decode

        old = await asyncio.to_thread(decode, before)
        new = await asyncio.to_thread(decode, after)
        if not (old.is_shown or new.is_shown):
            return False
        if self._is_current(request):
            self.image_view.show_versions(old, new)
            self._layout.setCurrentWidget(self.image_view)
        return True

    async def _show_notebook(self, request: int, diff: FileDiff, before: bytes | None, after: bytes | None) -> bool:
        from desktop_agent.core.diff.notebook import notebook_diff

        cells = await asyncio.to_thread(notebook_diff, diff, before, after)
        if cells is None:
            return False
        if self._is_current(request):
            self.notebook_view.show_diff(cells)
            self._layout.setCurrentWidget(self.notebook_view)
        return True

    async def _show_facts(self, request: int, before: bytes | None, after: bytes | None) -> None:
        from desktop_agent.ui.review.media.binary_facts import binary_facts

        facts = await asyncio.to_thread(binary_facts, before, after)
        if self._is_current(request):
            self.binary_view.show_facts(facts)
            self._layout.setCurrentWidget(self.binary_view)

    def _is_current(self, request: int) -> bool:
        return isValid(self) and request == self._request

    # -- its parts, made when they are first needed --

    @cached_property
    def image_view(self) -> ImageView:
        """Where pictures are shown."""
        view = ImageView(self._theme)
        self._layout.addWidget(view)
        return view

    @cached_property
    def notebook_view(self) -> DiffView:
        """Where the cells of notebooks are shown."""
        view = DiffView(self._theme)
        view.setObjectName("notebookView")
        self._layout.addWidget(view)
        return view

    @cached_property
    def binary_view(self) -> BinaryView:
        """Where facts about bytes are shown."""
        view = BinaryView(self._theme)
        self._layout.addWidget(view)
        return view
