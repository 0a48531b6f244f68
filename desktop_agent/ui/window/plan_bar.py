"""The bar that names the plan while it waits for the user. Its window is `plan_window`."""

from typing import NamedTuple

from PySide6.QtCore import Signal

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.model import ApprovalPolicy, LineComment
from desktop_agent.core.system.git.repository import RepoStatus
from desktop_agent.ui.widgets.banner import BannerFrame
from desktop_agent.ui.wording.visible_text import one_line


class ShownPlan(NamedTuple):
    session_id: SessionId = ""
    text: str = ""
    before: str = ""
    """The text before the agent's last revision; empty if there was none."""
    comments: tuple[LineComment, ...] = ()
    """All comments of the session, because they are sent together."""
    approval: ApprovalPolicy = "on_write"
    is_planning: bool = False
    """Whether the user can comment on the plan. If not, it is being carried out, or only read."""
    is_running: bool = False
    progress: str = ""

    @property
    def is_open(self) -> bool:
        """Whether the user can edit the plan."""
        return self.is_planning and not self.is_running


class PlanBar(BannerFrame):
    opened = Signal()
    changed = Signal()  # `shown`
    edited = Signal(str)
    accepted = Signal(str, object)  # the plan to carry out, and an `ApprovalPolicy`, or None to keep it
    accepted_apart = Signal(str, object)  # the same, in a new worktree
    comment_added = Signal(object)  # a `LineComment`, new or changed
    comment_removed = Signal(str)  # its id
    comments_sent = Signal(str)  # the introduction

    def __init__(self) -> None:
        super().__init__("planBar", warns=False)
        self.shown = ShownPlan()
        self.offers_worktree = False
        self._is_begun = False
        self.add_button(self.tr("Read and edit…"), "openPlanButton", self.opened)
        self.apart = self.add_button(self.tr("Carry out in a worktree"), "carryOutApartButton", self._carry_out_apart)
        self.apart.setToolTip(self.tr("The files in this folder stay as they are until you bring the changes back"))
        self.apart.hide()
        self.accept = self.add_button(self.tr("Carry out"), "carryOutPlanButton", self._carry_out)
        self.accepted_apart.connect(self._say_worktree_begins)

    @property
    def is_offered(self) -> bool:
        """Whether the plan can be carried out now. While its worktree is being made, it cannot be once more."""
        return self.shown.is_open and bool(self.shown.text) and not self._is_begun

    def note_repository(self, status: object) -> None:
        """Offer a worktree if the folder is in a repository with a commit: `status` is a `RepoStatus` then."""
        self.offers_worktree = isinstance(status, RepoStatus) and bool(status.commit)
        self.apart.setVisible(self.offers_worktree)
        self.changed.emit()

    def _say_worktree_begins(self) -> None:
        """Say so, and offer nothing, until a plan is shown again."""
        self.say(self.tr("Making the worktree in which the plan is carried out…"), "")
        self._offer(is_begun=True)

    def show_plan(self, shown: ShownPlan) -> None:
        self.shown = shown
        title = next((line.lstrip("# ") for line in shown.text.splitlines() if line.strip()), "")
        self.say(self.tr("Plan: {0}").format(one_line(title)), "")
        self._offer(is_begun=False)
        self.setVisible(self.is_offered)

    def _offer(self, *, is_begun: bool) -> None:
        self._is_begun = is_begun
        self.accept.setEnabled(not is_begun)
        self.apart.setEnabled(not is_begun)
        self.changed.emit()

    def _carry_out(self) -> None:
        self.accepted.emit(self.shown.text, None)

    def _carry_out_apart(self) -> None:
        self.accepted_apart.emit(self.shown.text, None)
