"""What the review panel holds once there is something to review: the files, the diff of one of them, the decisions."""

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QWidget

from desktop_agent.core.diff.rows import RowMode
from desktop_agent.core.protocol.ops import LookAtChanges
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.keys.part_keys import PartKeys
from desktop_agent.ui.review.changed_files import ReviewBaseline, is_decided
from desktop_agent.ui.review.diff_source import Submit
from desktop_agent.ui.review.panel.diff_loader import DiffLoader
from desktop_agent.ui.review.panel.file_decisions import FileDecisions
from desktop_agent.ui.review.panel.file_saving import FileSaving
from desktop_agent.ui.review.panel.list_decisions import ListDecisions
from desktop_agent.ui.review.panel.parts import ReviewParts
from desktop_agent.ui.review.panel.undo_news import UndoNews
from desktop_agent.ui.runtime.throttle import Throttle
from desktop_agent.ui.theme import Height
from desktop_agent.ui.widgets.layouts import hairline, vbox

_MIN_LIST_ROWS = 3
_LIST_SHARE = 0.35
_REDRAW_INTERVAL_MS = 100
"""Deciding about 1,000 files at once is 1,000 pieces of news; each would have all of them drawn anew."""


class ReviewContent(QObject):
    """Keeps what is shown of a transcript, or of what git finds different, up to date. Its parts ask for the rest."""

    def __init__(self, parts: ReviewParts) -> None:
        super().__init__(parts.page)
        self.page = page = parts.page
        """Where all of it is shown."""
        self._parts = parts
        self._keys = PartKeys("diff", page)
        self._shown_state: object = None
        self._disk_state: object = None
        self._reviewed, self._git, self._decisions = parts.reviewed, parts.git, parts.decisions
        self._listing = parts.listing
        self._list = files = parts.listing.files
        self._pane = pane = parts.pane
        self._loader = DiffLoader(pane, parts.source, parts.spawn)
        self._saving = FileSaving(pane.editing, files, parts.reviewed, parts.decisions)
        self._news = UndoNews(parts, page)
        self.file = FileDecisions(parts, self._loader, page)
        """The decisions about the file that is shown."""
        self.all = ListDecisions(parts, page)
        """The decisions about everything that is listed."""
        self._gap = QWidget(page)
        self._redraw = Throttle(self._draw, self, _REDRAW_INTERVAL_MS)
        vbox(self._listing, hairline(), (pane, 1), (self._gap, 1), hairline(), parts.bar, on=page)
        self._connect()

    # -- what it shows --

    def set_transcript(self, transcript: Transcript, submit: Submit, *, is_begun: bool = False) -> None:
        """Show the changes of this transcript.

        What was undone in it before is not announced. If it `is_begun`, it is the conversation that was shown before,
        and does not know its folder yet.
        """
        folder = self._reviewed.transcript.session.workspace if is_begun else transcript.session.workspace
        self._reviewed.set_transcript(transcript, is_begun=is_begun)
        self._shown_state = self._disk_state = None
        self._loader.forget()
        self._parts.counts.forget()
        self._decisions.submit = submit
        self._decisions.problem.emit("")
        self._listing.clear_filter()
        self._parts.source.transcript = transcript
        self._git.set_folder(folder)
        if self._reviewed.baseline.is_git:
            self._git.load(self._reviewed.baseline)
        self._news.start_over()
        self._draw()

    def choose(self, baseline: ReviewBaseline) -> None:
        """Review this from now on."""
        self._look_at_jobs()
        self._reviewed.baseline = baseline
        self._disk_state = None
        self._decisions.problem.emit("")
        self._draw()

    def offer_baselines(self) -> None:
        """Let the user choose what to review, with the keyboard in the list."""
        self._parts.picker.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._parts.picker.showPopup()

    def set_mode(self, mode: RowMode) -> None:
        """Show diffs in this mode from now on, where there is room."""
        self._pane.set_mode(mode)

    def refresh(self) -> None:
        """Look at the transcript again: at once, but not more often than the eye needs, and not while hidden."""
        self._news.look()
        self._saving.look()
        self._redraw.trigger()

    def _draw(self) -> None:
        """Draw what changed. Costs next to nothing when nothing that is shown has changed."""
        self._reviewed.update_turns()
        self._ask_git_again()
        state = self._reviewed.state(), self._news.last
        if state != self._shown_state:
            self._shown_state = state
            to_compare = self._reviewed.update_files()
            self._listing.show_reviewed()
            self._parts.counts.request(to_compare)
            self.all.show_comments()

    def _on_listed(self) -> None:
        has_files = bool(self._list.files)
        self._gap.setVisible(not has_files)
        self._pane.setVisible(has_files)
        if not has_files:
            self._loader.forget()
        self.file.show()

    def _on_counted(self) -> None:
        self._shown_state = None
        self._redraw.trigger()

    def show_call(self, call_id: str, path: str = "", turn: int | None = None) -> bool:
        """Show what this call changed, of the file at `path` if one is given; whether it changed anything.

        What the user changed has no call: then `turn` says when.
        """
        record = self._reviewed.record_of_call(call_id, path, turn)
        if record is None:
            return False
        if not self._reviewed.covers(record):
            self.choose(ReviewBaseline("turn", record.turn))
        path = record.change.moved_to or record.change.path
        if not self._list.select(path):
            self._listing.clear_filter()
        return self._list.select(path)

    # -- what was changed elsewhere --

    def _look_again(self) -> None:
        """Ask git again: the user was elsewhere, and may have changed files there."""
        self._look_at_jobs()
        self._git.look()
        if self._reviewed.baseline.is_git:
            self._git.load(self._reviewed.baseline)

    def _look_at_jobs(self) -> None:
        """Have it recorded what background commands have changed; otherwise it shows when they end."""
        if any(job.state == "running" for job in self._reviewed.transcript.session.jobs):
            self._decisions.submit(LookAtChanges())

    def _ask_git_again(self) -> None:
        """Ask git when files were changed from here: its answer is of before."""
        state = self._reviewed.disk_state()
        if state != self._disk_state:
            self._disk_state = state
            if self._reviewed.baseline.is_git:
                self._git.load(self._reviewed.baseline)

    # -- where the user goes --

    def go_to_undecided(self, *, backwards: bool = False) -> None:
        """Go to the next undecided place, with the keyboard: in this file, else in the next one, round the end."""
        file = self._list.current_file
        is_open = file is not None and not is_decided(file)
        if is_open and self._pane.go_to_undecided(backwards=backwards):
            return
        if self._list.select_next_undecided(backwards=backwards) or is_open:
            self._loader.start_at_undecided(backwards=backwards)

    def _next_change(self) -> None:
        self._pane.view.navigation.next_change()

    def _previous_change(self) -> None:
        self._pane.view.navigation.previous_change()

    # -- how it is built --

    def _connect(self) -> None:
        self._parts.picker.chosen.connect(self.choose)
        self._parts.picker.opened.connect(self._git.look)
        self._parts.bar.next_clicked.connect(self.go_to_undecided)
        self._parts.counts.changed.connect(self._on_counted)
        self._git.changed.connect(self._redraw.trigger)
        self._listing.listed.connect(self._on_listed)
        self._list.clicked.connect(self._look_at_jobs)
        self._pane.mode_chosen.connect(self._parts.outlets.choose_mode)
        for action, slot in (("next_change", self._next_change), ("previous_change", self._previous_change)):
            shortcut = self._keys.bind(action, slot, self.page)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self.page.resized.connect(self._give_list_its_share)
        self.page.shown.connect(self._look_at_jobs)
        self.page.shown.connect(self._redraw.resume)
        self.page.hidden.connect(self._redraw.pause)
        self.page.returned_to.connect(self._look_again)

    def _give_list_its_share(self) -> None:
        rows = int(self.page.height() * _LIST_SHARE) // Height.LIST_ROW
        self._list.set_max_rows(max(_MIN_LIST_ROWS, rows))
