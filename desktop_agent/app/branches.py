"""The branch button of the window: lists branches, switches, makes and pushes them. Not part of any session."""

import asyncio
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from desktop_agent.app.controller import Controller, OneAtATime, WindowContext
from desktop_agent.app.navigator import Navigator
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.system.git.branches import list_branches, plan_push, push, switch_branch
from desktop_agent.core.system.git.repository import Push, RepoStatus
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.window.branch_popup import BranchPopup, Busy, PushQuestion

_MOST_LINES = 12


class Branches(Controller):
    def __init__(self, context: WindowContext, navigator: Navigator, is_working_in: Callable[[Path], bool]) -> None:
        super().__init__(context)
        self._navigator = navigator
        self._is_working_in = is_working_in
        self._status = RepoStatus()
        self._popup: BranchPopup | None = None
        self._work = OneAtATime(self._launch, self._fail)
        self._panels.window.top_bar.branch_button.clicked.connect(self._toggle)
        self._panels.window.actions_.choose_branch.triggered.connect(self._open)
        self._panels.files.repository_changed.connect(self._on_repository)
        navigator.workspace_changed.connect(self._on_workspace_changed)

    def _on_repository(self, status: object) -> None:
        self._status = status if isinstance(status, RepoStatus) else RepoStatus()
        self._panels.window.top_bar.set_branch(status if isinstance(status, RepoStatus) else None)
        if self._popup is not None:
            self._popup.show_status(self._status)

    def _on_workspace_changed(self, _root: Path) -> None:
        self._panels.window.top_bar.set_branch(None)
        if self._popup is not None:
            self._popup.close_popup()

    def _toggle(self) -> None:
        if self._popup is not None and self._popup.is_open:
            self._popup.close_popup()
        else:
            self._open()

    def _open(self) -> None:
        root, button = self._navigator.workspace, self._panels.window.top_bar.branch_button
        if root is None or not button.isVisible():
            return
        popup = self._popup = self._popup or self._build()
        popup.show_status(self._status)
        popup.open_popup()
        self._panels.files.refresh()
        self._launch(self._list(root))

    def _build(self) -> BranchPopup:
        popup = BranchPopup(self._theme, self._panels.window, self._panels.window.top_bar.branch_button)
        popup.switch_requested.connect(self._switch)
        popup.push_requested.connect(self._ask_to_push)
        popup.stop_requested.connect(self._work.cancel)
        return popup

    async def _list(self, root: Path) -> None:
        branches = await list_branches(root)
        if self._popup is not None and root == self._navigator.workspace:
            self._popup.show_branches(branches)

    def _switch(self, name: str, is_new: bool) -> None:
        root = self._navigator.workspace
        if root is None:
            return
        if self._is_working_in(root):
            self._fail(AgentError("The agent is working, so the branch stays.", hint="Stop it first."))
        else:
            self._work.begin(self._carry_out_switch(root, name, is_new=is_new))

    async def _carry_out_switch(self, root: Path, name: str, *, is_new: bool) -> None:
        self._begin("switch", self.tr("Switching to {0}…").format(name))
        try:
            await switch_branch(root, name, self._tell, is_new=is_new)
        finally:
            self._end()
        if self._popup is not None:
            self._popup.close_popup()

    def _ask_to_push(self) -> None:
        if (root := self._navigator.workspace) is not None:
            self._work.begin(self._plan_push(root))

    async def _plan_push(self, root: Path) -> None:
        planned = await plan_push(root)
        question = PushQuestion(self._panels.window, planned)
        question.add_answer(self.tr("Push"), "pushButton", partial(self._push, root, planned))
        question.ask()

    def _push(self, root: Path, planned: Push) -> None:
        self._work.begin(self._carry_out_push(root, planned))

    async def _carry_out_push(self, root: Path, planned: Push) -> None:
        self._begin("push", self.tr("Pushing {0} to {1}…").format(planned.branch, planned.remote))
        said = ""
        try:
            await push(root, planned, self._tell)
            said = self.tr("{0} was pushed to {1}.").format(planned.branch, planned.remote)
        except asyncio.CancelledError:
            said = self.tr("The push was stopped. {0} may have the commits already.").format(planned.remote)
            raise
        finally:
            self._end(said)

    def _begin(self, busy: Busy, words: str) -> None:
        popup = self._popup = self._popup or self._build()
        popup.set_busy(busy)
        popup.say(words)
        if not popup.is_open:
            popup.open_popup()

    def _tell(self, text: str) -> None:
        lines = [line for line in re.split(r"[\r\n]+", text) if line.strip()]
        if lines and self._popup is not None:
            self._popup.say(lines[-1].strip())

    def _end(self, words: str = "") -> None:
        if self._popup is not None:
            self._popup.set_busy("")
            self._popup.say(words)
        if (root := self._navigator.workspace) is not None:
            self._panels.files.refresh()
            self._launch(self._list(root))

    def _fail(self, error: AgentError) -> None:
        if self._popup is not None and self._popup.is_open:
            details = error.detail.splitlines()[:_MOST_LINES]
            self._popup.say("\n".join(filter(None, (core_words(error.title), core_words(error.hint), *details))))
        else:
            self._panels.conversation.banner.show_error(error)
