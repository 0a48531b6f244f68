"""Chooses the folder and the session that the window shows, and starts sessions."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from weakref import WeakKeyDictionary

from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, Signal

from desktop_agent.app.controller import Controller, WindowContext, in_background
from desktop_agent.app.sessions.draft_autosave import DraftAutosave
from desktop_agent.app.sessions.open_sessions import LiveSessions, Viewing
from desktop_agent.app.settings.settings_dialog import Setup
from desktop_agent.app.welcome import Welcome
from desktop_agent.composition.session_context import SessionOptions
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import AgentError, SessionBusyError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import AppPaths, resource_path
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ApprovalPolicy, ChangeSelection, ModelRef, SearchHit
from desktop_agent.core.providers.demo import DEMO_MODEL
from desktop_agent.core.store.drafts import DraftKey, folder_draft, session_draft, viewing_draft
from desktop_agent.core.system.session_bus import ChosenFiles, FileQuestion
from desktop_agent.core.system.workspace import usable_workspace
from desktop_agent.core.transcript import PageEntry, TextEntry, ToolEntry, Transcript
from desktop_agent.core.worktrees.worktrees import NewWorktree
from desktop_agent.ui.widgets.file_chooser import choose_files
from desktop_agent.ui.window.session_handle import DraftSession, SessionHandle


async def submit_and_wait(handle: SessionHandle, op: ops.Op, is_answer: Callable[[ev.Event], bool]) -> ev.Event:
    """Submit `op` and return the event that answers it. Raises the `AgentError` that kept the session from opening."""
    answer: asyncio.Future[ev.Event] = asyncio.get_running_loop().create_future()

    def on_happened(event: ev.Event) -> None:
        if not answer.done() and is_answer(event):
            answer.set_result(event)

    def on_failed(error: AgentError) -> None:
        if not answer.done():
            answer.set_exception(error)

    handle.happened.connect(on_happened)
    handle.failed.connect(on_failed)
    try:
        handle.submit(op)
        return await answer
    finally:
        handle.happened.disconnect(on_happened)
        handle.failed.disconnect(on_failed)


async def undo_since(handle: SessionHandle, turn: int) -> None:
    """Undo the changes of `turn` and later turns, except conflicting ones. Raises `AgentError` if undo is refused."""
    transcript = handle.transcript
    if transcript.turns.is_running:
        raise AgentError("The agent is working, so nothing was undone.", hint="Stop it first, or keep the files.")
    if not any(record.turn >= turn for record in transcript.changed.active()):
        return
    undo = ops.UndoChanges(selection=ChangeSelection(since_turn=turn))
    answer = await submit_and_wait(handle, undo, _ends_undo)
    if isinstance(answer, ev.Notice):
        raise AgentError(answer.title, hint=answer.hint, detail=answer.detail)


def _ends_undo(event: ev.Event) -> bool:
    return isinstance(event, ev.ChangesUndone) or (isinstance(event, ev.Notice) and event.code in ev.REFUSALS)


DEMO = ModelRef(provider="demo", model=DEMO_MODEL)


def examples() -> tuple[str, ...]:
    return (
        _example("What does this project do?"),
        _example("Run the tests and fix what fails."),
        _example("Find code that nothing uses."),
    )


def demo_prompt() -> str:
    return _example("One of the tests fails. Find out why, fix it, and run the tests again.")


def demo_follow_up() -> str:
    return _example("Add a test for an empty list, and note the fix in the changelog.")


_example = partial(QCoreApplication.translate, "Examples")


def model_after_change(model: ModelRef, before: ModelRef, now: ModelRef) -> ModelRef:
    """Return `model` after the settings changed from `before` to `now`. A model chosen by the user stays."""
    if model == before:
        return now
    if model.provider == now.provider and (model.base_url, model.account) == (before.base_url, before.account):
        return replace(model, base_url=now.base_url, account=now.account)
    return model


def has_begun(transcript: Transcript) -> bool:
    return any(isinstance(entry, TextEntry | ToolEntry | PageEntry) for entry in transcript.entries)


DEMO_BRANCH = "fix/off-by-one"
_PROJECT = "pagination"


def make_demo_workspace(paths: AppPaths, now: datetime) -> Path:
    """Copy the demo project into a new folder. Blocks: call this in a thread."""
    root = paths.data / "demo" / f"{now:%Y%m%d-%H%M%S-%f}" / _PROJECT
    shutil.copytree(resource_path("demo", _PROJECT), root, ignore=shutil.ignore_patterns("__pycache__"))
    import pygit2

    repository = pygit2.init_repository(str(root), initial_head=DEMO_BRANCH)
    repository.index.add_all()
    repository.index.write()
    author = pygit2.Signature("Demo", "demo@example.invalid")
    tree = repository.index.write_tree()
    repository.create_commit("HEAD", author, author, "The state before the demo", tree, [])
    repository.free()
    return root


class Navigator(Controller):
    """Shows one folder, demo or session. Errors of requests go to the banner; awaited methods raise them."""

    workspace_changed = Signal(object)  # a `Path`
    session_opened = Signal(object)  # a `SessionHandle`, which is about to be shown
    shown = Signal()

    def __init__(
        self,
        context: WindowContext,
        live: LiveSessions,
        drafts: DraftAutosave,
        setup: Setup,
        *,
        default_model: Callable[[], ModelRef],
        refresh_list: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(context)
        self._live = live
        self._drafts = drafts
        self._setup = setup
        self._default_model = default_model
        self._refresh_list = refresh_list
        self._viewing = Viewing(context, lost=self.go_to)
        self._followed: WeakKeyDictionary[SessionHandle, ModelRef] = WeakKeyDictionary()
        """For each conversation, the model that the settings had when the conversation last took it over."""
        self._unsubscribe = self._bench.live.subscribe(self._on_settings_changed)
        self._begin_demo = in_background(self._launch, self.show_demo)
        self._welcome = Welcome(
            context,
            start_demo=self._begin_demo,
            choose_folder=self._ask_for_folder,
            begun=self._panels.composer.setFocus,
        )
        self._choosing = asyncio.Lock()
        self._choice = 0
        """The number of the user's latest choice. Only that is shown, whichever choice is ready first."""
        self.chosen: SessionId = ""
        """The session that the user chose last, which is or will be shown; empty for a new conversation."""
        self.workspace: Path | None = None
        self.home: Path | None = None
        """The folder that the shown session belongs to: in a worktree, that of the user's checkout."""
        panels, actions, entries = self._panels, self._panels.window.actions_, self._panels.transcript.entry_actions
        for begins in (actions.new_session.triggered, panels.sessions.new_requested):
            begins.connect(self.begin)
        for goes in (panels.sessions.session_chosen, entries.session_requested):
            goes.connect(self.go_to)
        actions.next_session.triggered.connect(partial(panels.sessions.step, 1))
        actions.previous_session.triggered.connect(partial(panels.sessions.step, -1))
        entries.resend_requested.connect(self._on_resend)
        panels.search.hit_chosen.connect(in_background(self._launch, self.show_hit))
        panels.conversation.viewing_bar.take_over_requested.connect(self._on_take_over)
        actions.demo.triggered.connect(self._begin_demo)
        panels.window.top_bar.folder_menu.folder_chosen.connect(self._on_folder_chosen)
        banner = panels.conversation.banner
        for asks in (actions.open_folder.triggered, banner.folder_requested, entries.folder_requested):
            asks.connect(self._ask_for_folder)
        panels.session.prompts.folder_requested.connect(self.welcome)
        panels.session.prompts.retry_requested.connect(self._follow_settings)
        panels.pasted_keys.found.connect(self._on_key_pasted)
        panels.conversation.plan.accepted_apart.connect(in_background(self._launch, self._carry_out_apart))

    async def aclose(self) -> None:
        self._unsubscribe()
        await self._viewing.aclose()

    def begin(self) -> None:
        if self.home is not None:
            self._launch(self.show_folder(self.home))
        else:
            self.welcome()

    def go_to(self, session_id: SessionId) -> None:
        self._launch(self.show_session(session_id))

    def welcome(self) -> None:
        self._welcome.open(self.workspace)

    def _on_take_over(self) -> None:
        self.go_to(self._panels.session.transcript.session.session_id)

    def _on_resend(self, turn: int, text: str, takes_files_back: bool) -> None:
        shown = self._panels.session.handle
        if shown is not None and shown.transcript.session.session_id:
            self._launch(self._resend(shown, turn, text, takes_files_back=takes_files_back))

    def _ask_for_folder(self) -> None:
        window = self._panels.window
        title = QCoreApplication.translate("SessionChoice", "Open a folder")
        question = FileQuestion(kind="folder", title=title, folder=str(self.workspace or ""))
        recent = window.top_bar.folder_menu.folders

        def open_chosen(chosen: ChosenFiles) -> None:
            self._on_folder_chosen(chosen.paths[0])

        choose_files(window, question, open_chosen, object_name="folderDialog", recent=recent)

    def _on_folder_chosen(self, path: str) -> None:
        self._welcome.set_folder(Path(path))
        self._launch(self.show_folder(Path(path)))

    def _on_key_pasted(self, key: str) -> None:
        if not self._welcome.takes_key(key):
            self._setup.open().enter_key(key)

    async def show_folder(self, folder: Path) -> None:
        """Show a folder. Raises `WorkspaceError` if it cannot be used."""
        choice = self._choose()
        root = await asyncio.to_thread(usable_workspace, folder)
        settings = self._bench.settings_in(root)
        await settings.refresh()
        await self._drafts.fetch(folder_draft(root))
        if choice == self._choice:
            self._enter_workspace(root)
            self._show_draft(root, self._default_model(), settings.current.execution.approval)

    async def show_demo(self) -> None:
        self._choose()
        root = await asyncio.to_thread(make_demo_workspace, self._bench.paths, SystemClock().now())
        self._enter_workspace(root)
        self._show_draft(root, DEMO, "on_write")
        empty, composer = self._panels.transcript.status.empty, self._panels.composer
        if composer.text().strip():  # the user has already written something
            empty.set_examples([demo_prompt()])
        else:
            empty.introduce_demo()
            composer.set_text(demo_prompt())

    async def show_session(self, session_id: str) -> bool:
        """Return False if the user chose something else meanwhile. A session that is open elsewhere is read-only."""
        choice = self._choose(session_id)
        async with self._choosing:  # two clicks must not open a session twice
            if choice != self._choice:
                return False
            handle, key = await self._open(session_id)
            if choice != self._choice:
                if self._viewing.is_viewing(handle):
                    self._viewing.leave()
                return False
            # Shown since the window first appeared, before any folder was entered.
            is_shown = self.workspace is None and handle is self._panels.session.handle
            session = handle.transcript.session
            self._enter_workspace(Path(session.workspace), Path(session.home))
            self.session_opened.emit(handle)
            self._show(handle, is_shown=is_shown)
            self._drafts.enter(key)
            return True

    def _choose(self, session_id: SessionId = "") -> int:
        self.chosen = session_id
        self._choice += 1
        return self._choice

    async def _open(self, session_id: SessionId) -> tuple[SessionHandle, DraftKey]:
        ours, theirs = session_draft(session_id), viewing_draft(session_id)
        await self._drafts.fetch(theirs)
        try:
            handle = await self._live.open(session_id)
        except SessionBusyError:
            return await self._viewing.open(session_id), theirs
        except AgentError:
            shown = self._panels.session.handle
            if self.workspace is None and shown is not None and shown.transcript.session.session_id == session_id:
                self._drafts.enter(ours)  # it was shown first and stays visible, with the text written into it
            raise
        await self._drafts.fetch(ours)
        self._drafts.adopt(theirs, ours)
        return handle, ours

    async def show_hit(self, hit: SearchHit) -> None:
        if await self.show_session(hit.session_id):
            self._panels.transcript.navigation.show_turn(hit.turn, hit.call_id)

    def _show_draft(self, root: Path, model: ModelRef, approval: ApprovalPolicy) -> None:
        sandbox = self._bench.settings_in(root).current.execution.sandbox
        mode = ev.ModeSet(model=model, approval=approval, sandbox=sandbox)
        draft = DraftSession(root, mode, in_background(self._panels.spawner.spawn, self._start_session))
        draft.keep_with(partial(self._drafts.note_sent, folder_draft(root)))
        self._panels.transcript.status.empty.set_examples(examples())
        self._show(draft)
        self._drafts.enter(folder_draft(root))
        self._panels.composer.setFocus()

    def _show(self, handle: SessionHandle, *, is_shown: bool = False) -> None:
        self._panels.conversation.banner.hide()
        is_viewed = self._viewing.is_viewing(handle)
        self._panels.conversation.viewing_bar.show_state(handle.read_only)
        self._panels.conversation.viewing_bar.setVisible(is_viewed)
        self._followed.setdefault(handle, self._default_model())
        if not is_shown:
            self._panels.session.show(handle)
        if not is_viewed:
            self._viewing.leave()
        self._panels.sessions.set_current(handle.transcript.session.session_id or None)
        self.shown.emit()

    def _on_settings_changed(self) -> None:
        """A begun conversation keeps its model until *Try again*: a change could send it to another provider."""
        handle = self._panels.session.handle
        if handle is not None and not has_begun(handle.transcript):
            self._follow_settings()

    def _follow_settings(self) -> None:
        if (handle := self._panels.session.handle) is None:
            return
        model, now = handle.transcript.session.model, self._default_model()
        before = self._followed.get(handle, now)
        self._followed[handle] = now
        if model is not None and (wanted := model_after_change(model, before, now)) != model:
            handle.submit(ops.SetMode(model=wanted))

    async def _start_session(self, draft: DraftSession) -> None:
        try:
            await self._live.begin(draft)
        except AgentError as error:
            waiting = draft.waiting_ops
            draft.drop_waiting()
            written = [op.text for op in waiting if isinstance(op, ops.SubmitPrompt | ops.RunCommand)]
            self._panels.session.prompts.give_back(written)
            self._panels.conversation.banner.show_error(error)
            if len(written) < len(waiting):
                draft.deliver(ev.Notice(level="warning", code="not_written", title=error.title, hint=error.hint))
            return
        self.session_opened.emit(draft)
        if self._panels.session.handle is draft:
            self.chosen = draft.session_id
            self._panels.conversation.banner.hide()
            self._drafts.move(session_draft(draft.session_id))
            self.shown.emit()
        self._drafts.note_sent(folder_draft(draft.workspace), ())
        draft.send_waiting()

    async def _resend(self, source: SessionHandle, turn: int, text: str, *, takes_files_back: bool) -> None:
        """Continue with another prompt from before `turn`, in a copy. The original conversation does not change."""
        try:
            if takes_files_back:
                await undo_since(source, turn)
            copy = await self._bench.stored.fork(source.transcript.session.session_id, before_turn=turn)
            await self.show_session(copy)
        except AgentError:
            self._panels.session.prompts.give_back([text])
            raise
        await self._refresh_list()
        handle = self._panels.session.handle
        if handle is not None and handle.transcript.session.session_id == copy:
            handle.submit(ops.SubmitPrompt(text=text))

    async def _carry_out_apart(self, plan: str, approval: ApprovalPolicy | None) -> None:
        """Carry out the plan in a new session in a new worktree. This session goes on planning."""
        if (source := self._panels.session.handle) is None:
            return
        mode, bar = source.transcript.session, self._panels.conversation.plan
        try:
            options = SessionOptions(
                model=mode.model,
                approval=approval or mode.approval,
                sandbox=mode.sandbox,
                worktree=NewWorktree(),
            )
            session_id = await self._bench.opener.create_closed(Path(mode.home), options)
        finally:
            bar.show_plan(bar.shown)
        if await self.show_session(session_id):
            for comment in source.transcript.changed.comments.values():
                if not comment.path:
                    self._panels.session.submit(ops.AddComment(comment=comment))
            self._panels.session.submit(ops.CarryOutPlan(text=plan))
        await self._refresh_list()

    def _enter_workspace(self, root: Path, home: Path | None = None) -> None:
        self.home = home or root
        if root != self.workspace:
            self.workspace = root
            self.workspace_changed.emit(root)
