"""The review panel: all changed files, their diffs, and undo. Its content is made when first needed or when idle."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QStackedLayout, QWidget

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.diff.rows import RowMode
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.review.changed_files import UNCOMMITTED
from desktop_agent.ui.review.diff_source import DiffSource, GitSource, Spawn, Submit
from desktop_agent.ui.review.empty_review import EmptyPage
from desktop_agent.ui.runtime.pacing import GradualWork
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.layouts import set_names

if TYPE_CHECKING:
    from desktop_agent.ui.review.review_content import ReviewContent


_PAUSE_MS = 4
"""The pause between two steps of making the content, so that the event loop can handle other events."""


class ReviewPanel(QWidget):
    file_open_requested = Signal(str)  # its path
    call_requested = Signal(str)  # its id
    diff_mode_changed = Signal(str)  # a `RowMode`
    wrapping_changed = Signal(bool)
    enlarge_clicked = Signal()
    bring_back_clicked = Signal()
    message_changed = Signal(str, str)  # a session's id, and the message of a commit that was begun in it

    def __init__(
        self,
        theme: Theme,
        diff_source: DiffSource,
        spawn: Spawn,
        *,
        make_git: Callable[[], GitSource] | None = None,
    ) -> None:
        """`make_git` is called when git is first needed. Without it, only the session's changes can be reviewed."""
        super().__init__()
        set_names(self, "reviewPanel", self.tr("Review"))
        self._theme = theme
        self._diff_source = diff_source
        self._make_git = make_git
        self._spawn = spawn
        self._is_git_wanted = False
        """Whether the user reviews git's differences although the session has changed nothing."""
        self._is_unreadable = False
        self._mode: RowMode | None = None
        self._is_wrapped = False
        self._enlarge_keys, self._is_enlarged = "", False
        self._has_title = True
        self._session: tuple[Transcript, Submit] | None = None
        self.content: ReviewContent | None = None
        self.adds_trailer: Callable[[], bool] = bool
        """Whether a commit gets the trailer unless its sheet says otherwise."""
        self.kept_message: Callable[[SessionId], str] = lambda _: ""
        """Returns the message of a commit that was begun in a session."""
        self._is_preparing = False
        self._preparation = GradualWork(self, pause_ms=_PAUSE_MS)
        self.is_prepared = False
        self._is_waiting = False
        self._pages = QStackedLayout(self)
        self._empty = EmptyPage(lambda: self._git, spawn)
        self._empty.git_button.clicked.connect(self._review_uncommitted)
        self._pages.addWidget(self._empty)

    def prepare(self, then: Callable[[], object] = lambda: None) -> None:
        """Make the widgets step by step, then call `then`. Import the module of `content` in a thread first."""
        if self.content is None and not self._is_preparing:
            self._is_preparing = True
            self._preparation.begin(self._prepare(then))
        else:
            then()

    @cached_property
    def _git(self) -> GitSource | None:
        return self._make_git() if self._make_git is not None else None

    def set_transcript(self, transcript: Transcript, submit: Submit) -> None:
        """Show another session's changes. Undos before that are not announced. `submit` sends ops to the session."""
        self._session = transcript, submit
        self._is_unreadable = False
        self._is_git_wanted = False
        if not self._is_waiting:
            self._empty.set_folder(transcript.session.workspace)
        if self.content or (transcript.changes and not self._is_waiting):
            self._show_in_content()
        self._show_page()

    def say_unreadable(self) -> None:
        self._is_unreadable = True
        self._show_page()

    def wait_for_preparation(self) -> None:
        """Show no changes and do not ask git until `prepare` has made all widgets."""
        self._is_waiting = self.content is None and not self.is_prepared

    def refresh(self) -> None:
        """Show the present changes. Call this for each patch that concerns changes or the status."""
        if self.content:
            self.content.refresh()
        elif self._has_changes and not self._is_waiting:
            self._show_in_content()
        self._show_page()

    def set_diff_mode(self, mode: RowMode) -> None:
        self._mode = mode
        if self.content:
            self.content.set_mode(mode)

    def set_wrapped(self, *, is_wrapped: bool) -> None:
        self._is_wrapped = is_wrapped
        if self.content:
            self.content.set_wrapped(is_wrapped=is_wrapped)

    def show_title(self, is_shown: bool) -> None:
        """Show the panel's heading, or hide it while a tab says the same above it."""
        self._has_title = is_shown
        for title in self.findChildren(QLabel, "reviewTitle"):
            title.setVisible(is_shown)

    def set_enlarge_keys(self, keys: str) -> None:
        self._enlarge_keys = keys
        self.set_enlarged(self._is_enlarged)

    def set_enlarged(self, is_enlarged: bool) -> None:
        """Show whether the review has the whole window."""
        self._is_enlarged = is_enlarged
        if self.content:
            self.content.set_enlarged(self._enlarge_keys, is_enlarged=is_enlarged)
        self._leave_if_empty()

    def _leave_if_empty(self) -> None:
        """Give the window back if there is nothing to review, and so no button to do it."""
        if self._is_enlarged and not self.has_review:
            self.enlarge_clicked.emit()

    @property
    def has_review(self) -> bool:
        """Whether changes are shown instead of a message."""
        return self._pages.currentIndex() == 1

    @property
    def _has_changes(self) -> bool:
        return self._session is not None and bool(self._session[0].changes)

    def _review_uncommitted(self) -> None:
        if self._session is not None:
            self._is_git_wanted = True
            self._show_in_content().choose(UNCOMMITTED)
            self._show_page()

    def _show_page(self) -> None:
        if self._session is not None:  # unknown before
            is_empty = self._session[0].is_whole and not self._session[0].changes
            self._empty.say("empty" if is_empty else "unreadable" if self._is_unreadable else "reading")
        has_changes = self._has_changes and not self._is_waiting
        self._pages.setCurrentIndex(1 if has_changes or self._is_git_wanted else 0)
        self._leave_if_empty()

    def _show_in_content(self) -> "ReviewContent":
        self._is_waiting = False
        if self.content is None:
            self.content = self._made_content
            self.content.complete()
            self._show_look(self.content)
        if self._session is not None:
            self.content.set_transcript(*self._session)
        return self.content

    def _show_look(self, content: "ReviewContent") -> None:
        if self._mode is not None:
            content.set_mode(self._mode)
        content.set_wrapped(is_wrapped=self._is_wrapped)
        self.show_title(self._has_title)
        content.set_enlarged(self._enlarge_keys, is_enlarged=self._is_enlarged)

    @cached_property
    def _made_content(self) -> "ReviewContent":
        # Imported after the window's first paint, because it takes as long as importing the conversation.
        from desktop_agent.ui.review.review_content import ReviewContent

        content = ReviewContent(self._theme, self._diff_source, self._git, self._spawn, self)
        content.committing.adds_trailer = self.adds_trailer
        content.committing.kept_message = lambda session_id: self.kept_message(session_id)  # noqa: PLW0108 - set later
        content.committing.message_changed.connect(self.message_changed)
        content.file_open_requested.connect(self.file_open_requested)
        content.call_requested.connect(self.call_requested)
        content.diff_mode_changed.connect(self.diff_mode_changed)
        content.wrapping_changed.connect(self.wrapping_changed)
        content.enlarge_clicked.connect(self.enlarge_clicked)
        content.bring_back_clicked.connect(self.bring_back_clicked)
        self._pages.addWidget(content)
        return content

    def _prepare(self, then: Callable[[], object]) -> Iterator[object]:
        for _ in self._made_in_pieces():
            yield
            if self.content is not None:  # the content was needed earlier and made at once
                break
        if self._is_waiting:
            self._is_waiting = False
            if self._session is not None:
                self._empty.set_folder(self._session[0].session.workspace)
            self.refresh()
        then()

    def _made_in_pieces(self) -> Iterator[object]:
        content = self._made_content
        yield from content.made_in_pieces()
        self._show_look(content)
        yield
        for widget in content.findChildren(QWidget):
            widget.ensurePolished()
        yield
        if self.isVisible():  # otherwise the hidden panel and the whole window would be laid out
            content.setGeometry(self._pages.geometry())
            content.grab()  # lays everything out, and loads glyphs
        self.is_prepared = True
