"""The conversation, the bars and banners above it, such as that of the plan, and the window with the news."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QSize, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QFrame, QTextBrowser, QWidget

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol.model import ApprovalPolicy, LineComment
from desktop_agent.core.settings.workspace_settings import ProjectProposal
from desktop_agent.core.system.git.repository import RepoStatus
from desktop_agent.ui.chat.checklist import TodoPanel
from desktop_agent.ui.chat.transcript.view import TranscriptView
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.banner import Banner, BannerFrame, few_lines
from desktop_agent.ui.widgets.find_bar import FindBar
from desktop_agent.ui.widgets.focus import announce
from desktop_agent.ui.widgets.layouts import resize_within_screen, vbox
from desktop_agent.ui.wording import one_line, plain_tooltip, visible_line


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


class HoldBanner(BannerFrame):
    file_requested = Signal()
    go_on_requested = Signal()

    def __init__(self) -> None:
        super().__init__("settingsHoldBanner")
        self.add_button(self.tr("Open the file"), "openFaultyFileButton", self.file_requested)
        tooltip = self.tr("Valid settings apply. Defaults replace the others until you fix the file.")
        default = self.tr("Use defaults anyway")
        self.add_button(default, "useDefaultsButton", self.go_on_requested, is_flat=True, tooltip=tooltip)

    def show_faults(self, faults: Sequence[object]) -> None:
        lines = [str(fault) for fault in faults]
        shown = [*few_lines(lines), self.tr("Work continues when you fix the file.")]
        self.say(self.tr("Nothing runs: settings that your safety depends on cannot be read."), "\n".join(shown))
        self.setToolTip(plain_tooltip("\n".join(lines)))
        self.show()


class ProjectBanner(BannerFrame):
    answered = Signal(str)  # trusted or ignored
    details_requested = Signal()

    def __init__(self) -> None:
        super().__init__("projectBanner")
        trust, ignore = partial(self.answered.emit, "trusted"), partial(self.answered.emit, "ignored")
        self._trust = self.add_button(self.tr("Trust"), "projectBannerTrust", trust)
        self.add_button(self.tr("Ignore"), "projectBannerIgnore", ignore)
        self.add_button(self.tr("Details…"), "projectBannerDetails", self.details_requested, is_flat=True)

    def show_proposal(self, proposal: ProjectProposal) -> None:
        # Not needed for the first paint.
        from desktop_agent.core.agents.definition import read_agents
        from desktop_agent.core.mcp.definition_file import read_definitions
        from desktop_agent.ui.settings.extensions_page import (
            agent_lines,
            change_lines,
            checker_lines,
            import_lines,
            problem_lines,
            program_lines,
            server_lines,
        )

        servers, agents = read_definitions(proposal.tables), read_agents(proposal.tables)
        starts, offers, runs, checks, imports = (
            self.tr("These settings would start the MCP server {0}"),
            self.tr("These settings would offer the agent {0}"),
            self.tr("This would run outside the sandbox: {0}"),
            self.tr("This language server would run in the sandbox: {0}"),
            self.tr("The model would see this file from outside the folder: {0}"),
        )
        programs = [starts.format(line) for line in server_lines(servers, proposal)]
        programs += [offers.format(line) for line in agent_lines(agents, proposal)]
        programs += [runs.format(line) for line in program_lines(proposal)]
        programs += [checks.format(line) for line in checker_lines(proposal)]
        programs += [imports.format(line) for line in import_lines(proposal.items)]
        texts = ", ".join(visible_line(item.name).text for item in proposal.items if item.is_text)
        told = [self.tr("The model would be offered these skills and sub-agents: {0}").format(texts)] if texts else []
        problems = problem_lines((*proposal.problems, *servers.problems, *agents.problems))
        lines = programs + told + change_lines(proposal.changes) + problems
        shown = few_lines(lines, longest=160)
        title = self.tr("This project brings settings or extensions. They apply only if you trust them.")
        self.say(title, "\n".join(shown))
        is_whole = shown[: len(programs)] == programs  # they are trusted only if shown in full
        self._trust.setVisible(is_whole and bool(programs or texts or proposal.changes))
        self.show()


class NewsBar(BannerFrame):
    wanted = Signal()

    def __init__(self) -> None:
        super().__init__("newsBar", warns=False)
        self._page = QUrl()
        self._read = self.add_button(self.tr("What is new…"), "readNewsButton", self.hide)
        self._read.clicked.connect(self.wanted)
        self._open = self.add_button(self.tr("Open its page"), "openReleaseButton", self.hide)
        self._open.clicked.connect(lambda: QDesktopServices.openUrl(self._page))
        self.add_button(self.tr("Dismiss"), "dismissNewsButton", self.hide, is_flat=True)

    def show_version(self, version: str) -> None:
        self._show(self.tr("Desktop Agent was updated to {0}.").format(version), is_installed=True)

    def show_newer(self, version: str, page: str) -> None:
        self._page = QUrl(page, QUrl.ParsingMode.StrictMode)
        self._show(self.tr("Desktop Agent {0} is available.").format(version), is_installed=False)

    def _show(self, title: str, *, is_installed: bool) -> None:
        self.say(title, "")
        self._read.setVisible(is_installed)
        self._open.setVisible(not is_installed and self._page.scheme() in ("https", "http"))
        self.show()


_NEWS_SIZE = QSize(640, 560)
_LEAST_NEWS_SIZE = QSize(360, 240)


class NewsWindow(QWidget):
    def __init__(self, markdown: str, parent: QWidget, *, name: str = "newsWindow", title: str = "") -> None:
        """`markdown` must be short, because all of it is laid out at once."""
        super().__init__(parent, Qt.WindowType.Window)
        self.setObjectName(name)
        self.setWindowTitle(title or self.tr("What is new"))
        self.setAccessibleName(self.windowTitle())
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        text = QTextBrowser()
        text.setObjectName("newsText")
        text.setAccessibleName(self.windowTitle())
        text.setFrameShape(QFrame.Shape.NoFrame)
        text.setProperty("variant", "bare")
        text.setOpenLinks(False)
        text.anchorClicked.connect(self._on_link)
        text.setMarkdown(markdown)
        vbox(text, on=self, margins=(Space.XL, Space.L, Space.M, Space.L))
        resize_within_screen(self, _NEWS_SIZE, _LEAST_NEWS_SIZE)

    def _on_link(self, address: QUrl) -> None:
        if not address.isRelative():  # a relative address leads into the repository, which is not available
            QDesktopServices.openUrl(address)


class CrashBar(BannerFrame):
    """Offers the report of a window that ended unexpectedly. The report stays until the user discards it."""

    def __init__(self) -> None:
        super().__init__("crashBar", warns=False)
        self._report: Path | None = None
        self._text = ""
        self.add_button(self.tr("Show report"), "showCrashButton", self._show)
        self.add_button(self.tr("Copy"), "copyCrashButton", self._copy)
        self.add_button(self.tr("Open folder"), "crashFolderButton", self._open_folder)
        self.add_button(self.tr("Discard"), "discardCrashButton", self._discard, is_flat=True)

    def offer(self, report: Path, text: str) -> None:
        self._report, self._text = report, text
        hint = self.tr("A report was saved on this computer. Nothing was sent.")
        self.say(self.tr("Desktop Agent ended unexpectedly the last time."), hint)
        self.show()

    def _show(self) -> None:
        shown = "\n".join(f"    {line}" for line in self._text.splitlines())
        NewsWindow(shown, self.window(), name="crashWindow", title=self.tr("Report")).show()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._text)

    def _open_folder(self) -> None:
        if self._report is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._report.parent)))

    def _discard(self) -> None:
        if self._report is not None:
            self._report.unlink(missing_ok=True)
        self.hide()


class ViewingBar(BannerFrame):
    take_over_requested = Signal()

    def __init__(self) -> None:
        super().__init__("viewingBar")
        self._button = self.add_button(self.tr("Take over"), "takeOverButton")
        self._button.clicked.connect(self.take_over_requested)

    def show_state(self, reason: str) -> None:
        """`reason` says why the session is only read; empty: it can be taken over."""
        is_free = not reason
        go_on, later = self.tr("Take it over to continue it here."), self.tr("You can take it over when that ends.")
        hint = go_on if is_free else later
        self.say(reason or self.tr("This session is no longer open elsewhere."), hint)
        self._button.setEnabled(is_free)
        self._button.setToolTip("" if is_free else hint)
        self._button.setAccessibleDescription(hint)


class WorktreeBar(BannerFrame):
    """Says what happened to a worktree, and offers to restore it."""

    restore_requested = Signal(str)  # its name

    def __init__(self) -> None:
        super().__init__("worktreeBar", warns=False)
        self._name = ""
        self._restore = self.add_button(self.tr("Restore"), "restoreWorktreeButton", self._on_restore)
        self.add_button(self.tr("Dismiss"), "dismissWorktreeButton", self.hide, is_flat=True)

    def tell(self, title: str, hint: str, restorable: str = "") -> None:
        """`restorable` is the name of a worktree that can be restored."""
        self._name = restorable
        self.say(title, hint)
        self._restore.setVisible(bool(restorable))
        self.show()
        announce(self, self.accessibleName())

    def _on_restore(self) -> None:
        self.restore_requested.emit(self._name)


class SignInBar(BannerFrame):
    """Says how a sign-in with another program's agent goes, and offers the failed turn again after it."""

    cancelled = Signal()
    retry_requested = Signal()

    def __init__(self) -> None:
        super().__init__("signInBar")
        self.setProperty("role", "bar")  # not a warning
        self._title.setProperty("role", "strong")
        self._cancel = self.add_button(self.tr("Cancel"), "cancelAgentSignInButton", self.cancelled)
        self._again = self.add_button(self.tr("Try again"), "retryAfterSignInButton", self.retry_requested)
        self._dismiss = self.add_button(self.tr("Dismiss"), "dismissSignInButton", self.hide, is_flat=True)

    def tell(self, title: str, hint: str, *, is_running: bool = False, is_good: bool = False) -> None:
        self.say(title, hint)
        for button, is_shown in ((self._cancel, is_running), (self._again, is_good), (self._dismiss, not is_running)):
            button.setVisible(is_shown)
        self.show()
        announce(self, self.accessibleName())


class ConversationPane(QWidget):
    def __init__(self, transcript: TranscriptView, plan: PlanBar, todos: TodoPanel) -> None:
        super().__init__()
        self.plan, self.todos = plan, todos
        self.viewing_bar = ViewingBar()
        self.news_bar = NewsBar()
        self.crash_bar = CrashBar()
        self.hold_banner = HoldBanner()
        self.banner = Banner()
        self.project_banner = ProjectBanner()
        self.worktree_bar = WorktreeBar()
        self.sign_in_bar = SignInBar()
        self.find_bar = FindBar(transcript.finder, transcript, self.tr("Find in the conversation"), name="findBar")
        bars = (self.news_bar, self.crash_bar, self.viewing_bar, self.hold_banner, self.banner, self.project_banner)
        vbox(*bars, self.worktree_bar, self.sign_in_bar, self.find_bar, (transcript, 1), plan, todos, on=self)
