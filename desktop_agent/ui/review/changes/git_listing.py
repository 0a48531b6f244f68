"""What git finds different, found in the background and kept until the next request."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.protocol.model import FileChange
from desktop_agent.core.transcript import ChangeRecord
from desktop_agent.ui.review.changed_files import ChangedFile, ReviewBaseline, git_files
from desktop_agent.ui.review.source import GitSource, GitState, Spawn


class GitListing(QObject):
    """Asks git for one folder, one question after the other. An answer to an older question is dropped.

    Signals:
        changed: there is another answer.
    """

    changed = Signal()

    def __init__(self, git: GitSource | None, spawn: Spawn, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._git = git
        self._spawn = spawn
        self._folder = ""
        self._baseline: ReviewBaseline | None = None
        self._questions = 0
        self._looks = 0
        self.state: GitState | None = None
        """What git can compare with; `None` before the first look."""
        self.files: tuple[ChangedFile, ...] = ()
        """What differs within the baseline that was asked for last."""
        self.is_loading = False
        self.problem = ""
        """Why there is no answer."""

    def set_folder(self, folder: str) -> None:
        """Ask about another folder from now on."""
        self._folder = folder
        self._baseline = None
        self._questions += 1
        self.state, self.files, self.is_loading, self.problem = None, (), False, ""
        self.look()

    def look(self) -> None:
        """Find out what there is to compare with."""
        if self._git is not None and self._folder:
            self._looks += 1
            self._spawn(self._look(self._git, self._looks))

    def load(self, baseline: ReviewBaseline) -> None:
        """List what differs from this baseline; what is there of it stays until the answer comes."""
        if self._git is None:
            return
        self._questions += 1
        if baseline != self._baseline:
            self.files = ()
        self._baseline = baseline
        self.is_loading = True
        self._spawn(self._load(self._git, baseline.branch, self._questions))

    async def _look(self, git: GitSource, number: int) -> None:
        state = await git.look(self._folder)
        if isValid(self) and number == self._looks and state != self.state:
            self.state = state
            self.changed.emit()

    async def _load(self, git: GitSource, branch: str, number: int) -> None:
        problem, found = "", ()
        try:
            found = await git.changes(self._folder, branch)
        except AgentError as error:
            problem = error.title
        if not isValid(self) or number != self._questions:
            return
        self.is_loading = False
        self.problem = problem
        self.files = tuple(git_files(_records(found)))
        self.changed.emit()


def _records(changes: Sequence[FileChange]) -> list[ChangeRecord]:
    from desktop_agent.core.protocol.events import UNSTAMPED

    return [ChangeRecord(change, turn=0, call_id="", at=UNSTAMPED) for change in changes]
