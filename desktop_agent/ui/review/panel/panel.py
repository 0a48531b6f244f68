"""The review panel: every file that changed, what changed in it, and the way back.

Until something changed it says only that, and costs the start of the window nothing: its content is made later, when
the window is idle, or else with the first change.
"""

from collections.abc import Iterator
from functools import cached_property

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QStackedLayout, QVBoxLayout, QWidget
from shiboken6 import isValid

from desktop_agent.core.diff.rows import RowMode
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.review.panel.content import ReviewContent
from desktop_agent.ui.review.panel.header import header_row
from desktop_agent.ui.review.panel.parts import ReviewParts
from desktop_agent.ui.review.source import DiffSource, GitSource, Spawn
from desktop_agent.ui.theme import Space, Theme


class ReviewPanel(QWidget):
    """Shows the changes of a transcript, and asks for what the user decides by a signal. It changes nothing itself.

    Signals:
        op_requested: the session should do this, as the user decided; carries an `Op`.
        file_open_requested: the user wants to open the file of this path.
        call_requested: the user wants to see the call of this id in the conversation.
        diff_mode_changed: the user chose how diffs are shown, `side_by_side` or `unified`.
    """

    op_requested = Signal(object)
    file_open_requested = Signal(str)
    call_requested = Signal(str)
    diff_mode_changed = Signal(str)

    def __init__(
        self,
        theme: Theme,
        diff_source: DiffSource,
        spawn: Spawn,
        parent: QWidget | None = None,
        *,
        git: GitSource | None = None,
    ) -> None:
        """Without `git`, only what the session changed can be reviewed."""
        super().__init__(parent)
        self.setObjectName("reviewPanel")
        self.setAccessibleName(self.tr("Review"))
        self._theme = theme
        self._source = diff_source
        self._spawn = spawn
        self._git = git
        self._is_git_wanted = False
        """Whether the user reviews what git finds different, though the session changed nothing."""
        self._mode: RowMode | None = None
        self._transcript: Transcript | None = None
        self._content: ReviewContent | None = None
        self._prepared: ReviewContent | None = None
        """What will be the content; it has no transcript yet."""
        self._pieces: Iterator[object] = iter(())
        self._is_prepared = False
        self._is_waiting = False
        self._pages = QStackedLayout(self)
        self._pages.addWidget(self._empty_page())

    def prepare(self) -> None:
        """Make what the first change will be shown in, piece by piece. Import `content` and `diff_review` before."""
        if self._content is None and self._prepared is None:
            self._pieces = self._made_in_pieces()
            self._make_next_piece()

    @property
    def is_prepared(self) -> bool:
        """Whether showing a first change has nothing left to make."""
        return self._is_prepared

    def set_transcript(self, transcript: Transcript) -> None:
        """Show the changes of this transcript. What was undone in it before is no news."""
        self._transcript = transcript
        self._is_git_wanted = False
        self._git_button.hide()
        self._ask_for_repository(transcript.session.workspace)
        if self._content or (transcript.changes and not self._is_waiting):
            self._shown_content().set_transcript(transcript)
        self._show_page()

    def wait_for_preparation(self) -> None:
        """Show no changes before all is there that `prepare` makes: made at once it takes two frames or more."""
        self._is_waiting = self._content is None and not self._is_prepared

    def refresh(self) -> None:
        """Look at the transcript again. Call it for every patch that concerns changes or the status."""
        if self._content:
            self._content.refresh()
        elif self._transcript and self._transcript.changes and not self._is_waiting:
            self._shown_content().set_transcript(self._transcript)
        self._show_page()

    def show_call(self, call_id: str) -> bool:
        """Show what this call changed; whether it changed anything."""
        return self._content is not None and self._content.show_call(call_id)

    def set_diff_mode(self, mode: RowMode) -> None:
        """Show diffs in this mode from now on, where there is room."""
        self._mode = mode
        if self._content:
            self._content.pane.set_mode(mode)

    # -- what actions of the window do in here; nothing before there is something to review --

    @property
    def has_review(self) -> bool:
        """Whether there is something to review, and not only words about it."""
        return self._pages.currentIndex() == 1

    def next_undecided(self) -> None:
        """Go to the next undecided place, with the keyboard."""
        if self._content:
            self._content.go_to_undecided()

    def previous_undecided(self) -> None:
        """Go to the undecided place before this one, with the keyboard."""
        if self._content:
            self._content.go_to_undecided(backwards=True)

    def keep_file(self) -> None:
        """Keep the file that is shown."""
        if self._content:
            self._content.file.keep()

    def undo_file(self) -> None:
        """Undo the file that is shown."""
        if self._content:
            self._content.file.undo()

    def keep_all(self) -> None:
        """Keep everything that is listed."""
        if self._content:
            self._content.keep_all()

    def send_comments(self) -> None:
        """Show the remarks that were collected, to be sent."""
        if self._content:
            self._content.open_comments()

    # -- what git finds, when the session changed nothing --

    def _ask_for_repository(self, folder: str) -> None:
        if self._git is not None and folder:
            self._spawn(self._look(self._git, folder))

    async def _look(self, git: GitSource, folder: str) -> None:
        state = await git.look(folder)
        if isValid(self) and self._transcript is not None and self._transcript.session.workspace == folder:
            self._git_button.setVisible(not state.obstacle)

    def _review_uncommitted(self) -> None:
        from desktop_agent.ui.review.changed_files import UNCOMMITTED

        if self._transcript is not None:
            self._is_git_wanted = True
            self._shown_content().set_transcript(self._transcript)
            self._shown_content().choose(UNCOMMITTED)
            self._show_page()

    def _show_page(self) -> None:
        is_changed = self._transcript is not None and bool(self._transcript.changes)
        has_changes = is_changed and not self._is_waiting
        if self._transcript is not None:  # until then it is not known
            self._heading.setText(self.tr("Reading the changes…") if is_changed else self.tr("No changes yet"))
        self._pages.setCurrentIndex(1 if has_changes or self._is_git_wanted else 0)

    def _shown_content(self) -> ReviewContent:
        self._is_waiting = False
        if self._content is None:
            self._content, self._prepared = self._prepared or self._new_content(), None
            if self._mode is not None:
                self._content.pane.set_mode(self._mode)
        return self._content

    @cached_property
    def _parts(self) -> ReviewParts:
        return ReviewParts(self._theme, self._source, self._git, self._spawn)

    def _new_content(self) -> ReviewContent:
        from desktop_agent.ui.review.panel.decisions import ReviewOutlets

        outlets = ReviewOutlets(
            submit=self.op_requested.emit,
            open_file=self.file_open_requested.emit,
            show_call=self.call_requested.emit,
            choose_mode=self.diff_mode_changed.emit,
        )
        content = ReviewContent(self._parts, self._git, self._spawn, outlets, self)
        self._pages.addWidget(content)
        return content

    def _make_next_piece(self) -> None:
        """One of the pieces for each turn of the loop; those that are left when the content is needed are made then."""
        if self._content is None and next(self._pieces, self) is not self:
            QTimer.singleShot(0, self, self._make_next_piece)
        elif self._is_waiting:
            self._is_waiting = False
            self.refresh()

    def _made_in_pieces(self) -> Iterator[object]:
        yield from self._parts.made_in_pieces()
        content = self._prepared = self._new_content()
        yield
        yield from self._parts.pane.made_in_pieces()  # in its place: moving all of it there takes as long again
        if self._mode is not None:
            content.pane.set_mode(self._mode)
        yield
        for widget in content.findChildren(QWidget):
            widget.ensurePolished()
        yield
        if self.isVisible():  # else it would be laid out as if it was, and all of the window with it
            content.setGeometry(self._pages.geometry())
            content.grab()  # lays everything out, and loads glyphs
        self._is_prepared = True

    def _empty_page(self) -> QWidget:
        heading = self._heading = QLabel()
        heading.setProperty("role", "strong")
        hint = QLabel(self.tr("Every file that the agent creates, edits or deletes appears here, ready to be undone."))
        hint.setProperty("role", "secondary")
        hint.setWordWrap(True)
        middle = QVBoxLayout()
        middle.setContentsMargins(Space.XXL, 0, Space.XXL, 0)
        middle.setSpacing(Space.XS)
        for label in (heading, hint):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            middle.addWidget(label)
        self._git_button = QPushButton(self.tr("Review uncommitted changes"))
        self._git_button.setObjectName("reviewUncommittedButton")
        self._git_button.clicked.connect(self._review_uncommitted)
        self._git_button.hide()
        middle.addSpacing(Space.S)
        middle.addWidget(self._git_button, 0, Qt.AlignmentFlag.AlignHCenter)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(header_row())
        column.addStretch(2)
        column.addLayout(middle)
        column.addStretch(3)
        return page
