"""Fetches what a changed file's diff is from where it is computed, and shows it in the pane when it is there."""

from typing import Literal

from PySide6.QtCore import QObject, QTimer
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.changed_files import ChangedFile
from desktop_agent.ui.review.diff_source import FileDiffs, Spawn
from desktop_agent.ui.review.media.media_view import may_be_media
from desktop_agent.ui.review.panel.diff_pane import DiffPane
from desktop_agent.ui.translation.core_words import core_words

LOADING_DELAY_MS = 150
"""A diff that takes no longer than this comes without a word about it."""

_Undecided = Literal["", "first", "last"]


class DiffLoader(QObject):
    """Loads one file at a time. Results that come too late, for a file shown before, are dropped."""

    def __init__(self, pane: DiffPane, source: FileDiffs, spawn: Spawn) -> None:
        super().__init__(pane)
        self._pane = pane
        self._source = source
        self._spawn = spawn
        self._file: ChangedFile | None = None
        self._key: tuple[str, ...] = ()
        """What the file's was when its diff was asked for: a key follows the records, which change."""
        self._last_path = ""
        """The file whose diff was shown last, also while words stand in its place."""
        self._request = 0
        self._has_failed = False
        self._is_loading = False
        self._wants_undecided: _Undecided = ""
        self._patience = QTimer(self, interval=LOADING_DELAY_MS, singleShot=True)
        self._patience.timeout.connect(self._on_taking_long)

    def show_file(self, file: ChangedFile, call: str) -> None:
        """Show this file's diff. `call` is what to say of the call behind it. Does nothing when it is shown already."""
        self._pane.bar.set_file(file.path, call)
        self._pane.editing.set_path(file.path)
        self._file = file
        if file.key != self._key:
            self._key = file.key
            self._load(file)

    def forget(self) -> None:
        """Forget what is shown: the next file may have the same name and mean another session's."""
        self._file = None
        self._key = ()
        self._last_path = ""
        self._request += 1
        self._is_loading = False
        self._patience.stop()
        self._pane.clear()

    def try_again(self) -> None:
        """Ask once more for a diff that could not be had."""
        if self._file and self._has_failed:
            self._load(self._file)

    def start_at_undecided(self, *, backwards: bool = False) -> None:
        """Go to the first hunk without decision of the file that is shown, or the last, as soon as its diff is there.

        The keyboard goes there, too.
        """
        wanted: _Undecided = "last" if backwards else "first"
        if self._is_loading:
            self._wants_undecided = wanted
        else:
            self._start_at(wanted)
        self._pane.take_keyboard()

    def _start_at(self, wanted: _Undecided) -> None:
        if wanted:
            self._pane.review.hunks.go_to_undecided(backwards=wanted == "last", from_edge=True)

    def _load(self, file: ChangedFile) -> None:
        self._has_failed = False
        self._is_loading = True
        self._request += 1
        self._wants_undecided = ""
        self._patience.start()
        self._spawn(self._fetch(file, self._request))

    async def _fetch(self, file: ChangedFile, request: int) -> None:
        try:
            diff = await self._source.diff(file.standing)
        except AgentError as error:
            self._fail(request, core_words(error.title), core_words(error.hint))
            return
        except Exception:
            self._fail(request, self.tr("The change could not be shown"), self.tr("The log has the details."))
            raise
        if self._is_current(request):
            self._patience.stop()
            self._is_loading = False
            is_same_file = self._last_path == diff.path
            self._last_path = diff.path
            self._pane.show_diff(diff, keep_place=is_same_file)
            wanted, self._wants_undecided = self._wants_undecided, ""
            self._start_at(wanted)
            await self._show_better(file, diff, request, is_same_file=is_same_file)
            if wanted and self._is_current(request):
                self._pane.take_keyboard()  # a picture took the place of the lines

    async def _show_better(self, file: ChangedFile, diff: FileDiff, request: int, *, is_same_file: bool) -> None:
        """Show a picture or a notebook in place of its text. The one that is there stays until the next one comes."""
        stack, is_media = self._pane.stack, may_be_media(diff)
        if not (is_media and is_same_file):
            stack.show_text()
        if not is_media:
            return
        try:
            before, after = await self._source.versions(file.standing)
        except AgentError:
            if self._is_current(request):
                stack.show_text()  # it says at least how large the file is
            return
        if self._is_current(request):
            await stack.show_change(diff, before, after)

    def _fail(self, request: int, title: str, hint: str) -> None:
        if self._is_current(request):
            self._patience.stop()
            self._is_loading = False
            self._has_failed = True
            self._pane.show_message(title, hint)
            self._pane.editing.on_diff_shown()

    def _is_current(self, request: int) -> bool:
        return isValid(self) and request == self._request

    def _on_taking_long(self) -> None:
        if not self._pane.editing.is_active:
            self._pane.show_message(self.tr("Loading…"))
