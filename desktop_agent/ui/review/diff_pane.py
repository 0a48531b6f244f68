"""The diff of the chosen file, loaded in the background, with the file's bar and a search bar."""

from collections.abc import Collection
from functools import cached_property, partial
from typing import Literal

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.protocol.model import Author, FileDiff
from desktop_agent.ui.part_keys import PartKeys
from desktop_agent.ui.review.changed_files import ChangedFile
from desktop_agent.ui.review.diff.diff_review import DiffReview
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff.diff_words import HunkDecisions
from desktop_agent.ui.review.diff_source import FileDiffs, Spawn
from desktop_agent.ui.review.file_editing import FileEditing
from desktop_agent.ui.review.media_view import MediaStack, may_be_media
from desktop_agent.ui.review.review_bars import FileBar
from desktop_agent.ui.runtime.pacing import one_shot
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.find_bar import FindBar
from desktop_agent.ui.widgets.layouts import STRETCH, vbox

_tr = partial(QCoreApplication.translate, "DiffLoader")

LOADING_DELAY_MS = 150

_Undecided = Literal["", "first", "last"]


class DiffPane(QWidget):
    """Shows a diff. `bar`, `review` and `editing` report requests. Late results for earlier files are dropped."""

    made = Signal(object)  # a `DiffReview`

    def __init__(self, theme: Theme, source: FileDiffs, spawn: Spawn, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._source = source
        self._spawn = spawn
        self._find: FindBar | None = None
        self._file: ChangedFile | None = None
        self._key: tuple[str, ...] = ()
        """The key that the file had when its diff was requested. Later records give the file another key."""
        self._last_path = ""
        """The file whose diff was shown last, even while a message replaces it."""
        self._request = 0
        self._has_failed = False
        self._is_loading = False
        self._wants_undecided: _Undecided = ""
        self._patience = one_shot(self, LOADING_DELAY_MS, self._on_taking_long)
        self.bar = FileBar(theme, PartKeys("diff", self), can_enlarge=True)
        self.editing = FileEditing(theme, self.bar, self)
        self.editing.find_requested.connect(self._open_find)
        self._column = vbox(self.bar, STRETCH, on=self)

    # -- the diff, made when first needed: the empty window does without it --

    @cached_property
    def stack(self) -> MediaStack:
        stack = MediaStack(self._theme, self)
        stack.switched.connect(self._on_switched)
        self._column.addWidget(stack, 1)
        return stack

    @cached_property
    def review(self) -> DiffReview:
        review = DiffReview(self._theme, self.stack)
        view = review.view
        view.setObjectName("diffView")
        self.stack.hold(view)
        self.bar.attach(view)
        self.editing.attach(review)
        self.made.emit(review)
        return review

    @property
    def view(self) -> DiffView:
        return self.review.view

    @property
    def shown_path(self) -> str:
        """The file whose diff is shown. For a short time, it can still be the previous file."""
        diff = self.view.document.diff
        return diff.path if diff is not None else ""

    def is_current(self, file: ChangedFile) -> bool:
        """Whether the shown diff is the file's. An older diff of git's may have the same keys for other hunks."""
        is_older = self._is_loading or file.key != self._key
        return self.shown_path == file.path and not (file.is_git and is_older)

    def authors_of(self, keys: Collection[HunkKey]) -> set[Author]:
        """Return the authors of these hunks; empty unless several authors changed the file."""
        diff = self.view.document.diff
        return {
            author for key, authors in (diff.authors if diff is not None else ()) if key in keys for author in authors
        }

    def set_decisions(self, decisions: HunkDecisions) -> None:
        self.review.hunks.set_decisions(decisions)
        self.bar.set_undo_obstacle(decisions.obstacle)
        self._show_counts()

    def _show_message(self, heading: str, detail: str = "") -> None:
        self.view.show_message(heading, detail)
        self.stack.show_text()
        self._show_counts()

    def _show_counts(self) -> None:
        hunks = self.review.hunks
        (kept, undone, committed), is_offered = hunks.counts(), hunks.decisions.is_offered
        rows = self.view.document.rows
        self.bar.show_counts(rows, kept=kept, undone=undone, committed=committed, is_offered=is_offered)

    def _on_switched(self) -> None:
        self.editing.leave()
        self.bar.set_text_shown(is_shown=self.stack.is_text_shown)

    def show_file(self, file: ChangedFile, call: str) -> None:
        """`call` describes the tool call that changed the file."""
        self.bar.set_file(file.path, call)
        self.editing.set_path(file.path)
        self._file = file
        if file.key != self._key:
            self._key = file.key
            self._load(file)

    def forget(self) -> None:
        """Drop the shown file. The next file may have the same path but belong to another session."""
        self._file = None
        self._key = ()
        self._last_path = ""
        self._request += 1
        self._is_loading = False
        self._patience.stop()
        if "review" in self.__dict__:  # do not build it only to empty it
            self.editing.set_path("")
            self.view.show_diff(None)
            self.stack.show_text()
            self.editing.on_diff_shown()

    def try_again(self) -> None:
        if self._file and self._has_failed:
            self._load(self._file)

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
            self._fail(request, _tr("The change could not be shown"), _tr("The log has the details."))
            raise
        if self._is_current(request):
            self._patience.stop()
            self._is_loading = False
            is_same_file = self._last_path == diff.path
            self._last_path = diff.path
            self.view.show_diff(diff, keep_place=is_same_file)
            self._show_counts()
            self.bar.show_mode()
            self.editing.on_diff_shown()
            wanted, self._wants_undecided = self._wants_undecided, ""
            self._start_at(wanted)
            await self._show_better(file, diff, request, is_same_file=is_same_file)
            if wanted and self._is_current(request):
                self.take_keyboard()  # a picture replaced the lines

    async def _show_better(self, file: ChangedFile, diff: FileDiff, request: int, *, is_same_file: bool) -> None:
        is_media = may_be_media(diff)
        if not (is_media and is_same_file):
            self.stack.show_text()
        if not is_media:
            return
        try:
            before, after = await self._source.versions(file.standing)
        except AgentError:
            if self._is_current(request):
                self.stack.show_text()  # it shows at least the size of the file
            return
        if self._is_current(request):
            await self.stack.show_change(diff, before, after)

    def _fail(self, request: int, title: str, hint: str) -> None:
        if self._is_current(request):
            self._patience.stop()
            self._is_loading = False
            self._has_failed = True
            self._show_message(title, hint)
            self.editing.on_diff_shown()

    def _is_current(self, request: int) -> bool:
        return isValid(self) and request == self._request

    def _on_taking_long(self) -> None:
        if not self.editing.is_active:
            self._show_message(_tr("Loading…"))

    def start_at_undecided(self, *, backwards: bool = False) -> None:
        wanted: _Undecided = "last" if backwards else "first"
        if self._is_loading:
            self._wants_undecided = wanted
        else:
            self._start_at(wanted)
        self.take_keyboard()

    def _start_at(self, wanted: _Undecided) -> None:
        if wanted:
            self.review.hunks.go_to_undecided(backwards=wanted == "last", from_edge=True)

    def go_to_undecided(self, *, backwards: bool = False) -> bool:
        if self._is_loading and self._file is not None and self._file.path != self._last_path:  # none is drawn yet
            self.start_at_undecided(backwards=backwards)
            return True
        has_keyboard = self.isAncestorOf(self.window().focusWidget() or self)
        is_found = self.review.hunks.go_to_undecided(backwards=backwards, with_current=not has_keyboard)
        if is_found:
            self.take_keyboard()
        return is_found

    def take_keyboard(self) -> None:
        if self.editing.is_active:
            return
        if self.stack.is_text_shown:
            self.view.setFocus(Qt.FocusReason.ShortcutFocusReason)
        else:
            self.bar.take_keyboard()

    def _open_find(self) -> None:
        if self._find is None:
            self._find = FindBar(
                self.view.finder,
                self.view,
                self.tr("Find in the changes of this file"),
                name="diffFindBar",
                field_name="diffFindField",
                placeholder=self.tr("Find in this file"),
            )
            self._column.insertWidget(1, self._find)
        self._find.open_bar()
