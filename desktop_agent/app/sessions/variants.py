"""*Try with…*: runs a prompt with several models, each in a worktree, shows them, and takes what the user picks."""

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from PySide6.QtCore import Qt, QTimer
from shiboken6 import isValid

from desktop_agent.app.controller import Controller, WindowContext, in_background
from desktop_agent.app.navigator import Navigator
from desktop_agent.app.sessions.open_sessions import LiveSessions
from desktop_agent.composition.session_context import SessionOptions
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import AgentError, UsageError
from desktop_agent.core.base.ids import HunkKey, SessionId
from desktop_agent.core.base.plain_text import cost_text, named
from desktop_agent.core.models.account import USUAL
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection, ModelRef
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.store.journal.journal_reader import read_journal
from desktop_agent.core.transcript import NoticeEntry, TextEntry, ToolEntry, Transcript, replay
from desktop_agent.core.worktrees.bring_back import WorktreeOffer, find_offer
from desktop_agent.core.worktrees.variants import (
    Pick,
    Variant,
    VariantCheck,
    VariantSet,
    change_of,
    in_one_folder,
    left_to_take,
    require_repository,
    taken,
)
from desktop_agent.core.worktrees.worktrees import NewWorktree
from desktop_agent.headless.single_call import CommandCheck
from desktop_agent.ui.models.model_offers import AccountOffers
from desktop_agent.ui.review.variants import Choice, TrySheet, VariantFacts, VariantState, VariantsWindow
from desktop_agent.ui.runtime.eventloop import idle
from desktop_agent.ui.runtime.pacing import one_shot
from desktop_agent.ui.translation import core_words, plural
from desktop_agent.ui.window.session_handle import SessionHandle
from desktop_agent.ui.wording import short_path

_PAUSE_MS: Final = 150
_TICK_MS: Final = 1_000
_BETWEEN: Final = "\n"


class _Running(Struct, eq=False):
    """A variant as the window knows it."""

    variant: Variant
    transcript: Transcript
    session_id: SessionId = ""
    handle: SessionHandle | None = None
    began: float | None = None
    """When its turn began, by the monotonic clock; `None` while no turn runs."""
    seconds: float = 0.0
    """How long its finished turns took in all."""
    check: VariantCheck | None = None
    checking: CommandCheck | None = None
    offer: WorktreeOffer | None = None
    problem: str = ""
    is_stopped: bool = False
    is_discarded: bool = False
    is_leaving: bool = False
    """It is being discarded."""


class VariantControl(Controller):
    def __init__(self, context: WindowContext, live: LiveSessions, navigator: Navigator) -> None:
        super().__init__(context)
        self._live = live
        self._navigator = navigator
        self._clock = SystemClock()
        self._sheet: TrySheet | None = None
        self._window: VariantsWindow | None = None
        self._set: VariantSet | None = None
        self._running: dict[str, _Running] = {}
        self._labels: dict[str, str] = {}
        self._remembered: tuple[str, ...] = ()
        self._showing = one_shot(self, _PAUSE_MS, self._show_all)
        self._ticking = QTimer(self, interval=_TICK_MS)
        self._ticking.timeout.connect(self._show_all)
        self._panels.models.accounts_shown.connect(self._on_accounts)
        navigator.session_opened.connect(self._follow)

    # -- the sheet --

    async def ask(self) -> None:
        """Open the sheet. Raises `AgentError` if the folder is in no repository with a commit."""
        if (home := self._navigator.home) is None or self._sheet is not None:
            return
        await require_repository(home)
        known = await asyncio.to_thread(self._bench.variants.all)
        if self._sheet is not None:
            return
        self._remembered = tuple(one.choice for one in known[0].variants) if known else ()
        text, test = self._panels.composer.text(), known[0].check if known else ""
        folder = named(short_path(str(home)))
        sheet = self._sheet = TrySheet(self._theme, folder, text, test, self._panels.window)
        sheet.wanted.connect(in_background(self._launch, partial(self._begin, home, sheet)))
        sheet.finished.connect(self._on_sheet_closed)
        sheet.open()
        self._panels.models.opened.emit()  # its lists are read again

    def _on_sheet_closed(self) -> None:
        self._sheet = None

    def _on_accounts(self, accounts: Iterable[AccountOffers]) -> None:
        if self._sheet is None:
            return
        choices: list[Choice] = []
        for account in accounts:
            for offer in account.models if account.is_connected else ():
                value = _BETWEEN.join((offer.key.provider, offer.key.account, offer.key.model))
                self._labels[value] = offer.label
                choices.append((f"{offer.label} · {account.label}", value))
        now = self._panels.session.transcript.session.model
        current = _BETWEEN.join((now.provider, now.account, now.model)) if now is not None else ""
        self._sheet.show_choices(choices, self._remembered or (current,))

    async def _begin(self, home: Path, sheet: TrySheet, prompt: str, values: Sequence[str], test: str) -> None:
        try:
            models = [self._model_of(value) for value in values]
            names = [
                self._labels[value] + f" ({values[:at].count(value) + 1})" * (values.count(value) > 1)
                for at, value in enumerate(values)
            ]
            add = partial(self._bench.variants.add, home, prompt, names, check=test, at=self._clock.now())
            made = await asyncio.to_thread(add, choices=values)
        except AgentError as error:
            if isValid(sheet):
                sheet.say(error)
            return
        session = self._panels.session.transcript.session
        options = SessionOptions(approval=session.approval, sandbox=session.sandbox)
        if self._panels.composer.text().strip() == prompt:
            self._panels.composer.set_text("")
        sheet.accept()
        await self._show_set(made, [_Running(variant, Transcript()) for variant in made.variants])
        for one, model in zip(self._running.values(), models, strict=True):
            self._launch(self._run(made, one, options, model))

    def _model_of(self, value: str) -> ModelRef:
        provider, account, model = value.split(_BETWEEN)
        now = self._panels.session.transcript.session.model
        if now is not None and (now.provider, now.account, now.model) == (provider, account, model):
            return now
        is_same = now is not None and (now.provider, now.account) == (provider, account)
        meant = NamedModel(provider=provider, model=model, account=None if is_same else account or USUAL)
        return self._bench.model_meant(meant, now)

    # -- the window --

    async def reopen(self) -> None:
        """Show the last variants of the folder. Raises `AgentError` if they no longer exist."""
        home = self._navigator.home
        if self._bring_up_of(str(home)):
            return
        for made in await asyncio.to_thread(self._bench.variants.all):
            if made.folder == str(home):
                found = [await self._found(made, variant) for variant in made.variants]
                if self._bring_up_of(made.folder):  # asked for twice
                    return
                if not all(one.is_discarded for one in found):
                    await self._show_set(made, found)
                    for one in found:
                        self._launch(self._look(one))
                    return
        raise UsageError("There are no variants in this folder.", hint="Start some with “Try with…”.")

    def _bring_up_of(self, folder: str) -> bool:
        """Bring up the window if it shows the variants of this folder. Return whether it does."""
        if self._window is None or self._set is None or self._set.folder != folder:
            return False
        self._window.show()
        self._window.raise_()
        self._window.activateWindow()
        return True

    async def _found(self, made: VariantSet, variant: Variant) -> _Running:
        one = _Running(variant, Transcript())
        one.check = (await asyncio.to_thread(self._bench.variants.checks, made)).get(variant.worktree)
        try:
            seen = await self._bench.worktrees.find(variant.worktree)
        except UsageError:
            one.is_discarded, one.problem = True, self.tr("Never started, or deleted since")
            return one
        one.session_id, one.is_discarded = seen.worktree.session_id, seen.state != "made"
        journal = self._bench.catalog.journal_path(one.session_id)
        events, _ = await asyncio.to_thread(read_journal, journal, self._bench.blobs)
        one.seconds = sum(event.duration_s for event in events if isinstance(event, ev.TurnEnded))
        one.transcript = await asyncio.to_thread(replay, events)
        for handle in self._live.handles:
            if handle.session_id == one.session_id:
                self._connect(one, handle)
        if one.handle is None and one.transcript.turns.is_running:
            one.problem = self.tr("It was interrupted. Open it to go on.")
        return one

    async def _show_set(self, made: VariantSet, running: Sequence[_Running]) -> None:
        if self._window is not None:
            self._window.close()
        self._set, self._running = made, {one.variant.worktree: one for one in running}
        window = self._window = VariantsWindow(self._theme, made.prompt, self._panels.window)
        window.asked.connect(in_background(self._launch, self._do))
        window.take_requested.connect(in_background(self._launch, self._take))
        window.finished.connect(partial(self._on_closed, window))
        self._ticking.start()
        self._bring_up_of(made.folder)
        for one in running:
            await idle()
            if self._window is window:
                window.add(self._facts(one))

    def _on_closed(self, window: VariantsWindow, _result: int) -> None:
        if self._window is window:
            self._window = None
            self._ticking.stop()

    def _show_all(self) -> None:
        if self._window is not None:
            for one in self._running.values():
                facts = self._facts(one)
                column = self._window.columns.get(facts.worktree)
                if column is not None and facts != column.facts:
                    self._window.show_facts(facts)

    def _facts(self, one: _Running) -> VariantFacts:
        state, words = self._state(one)
        usage, check = one.transcript.turns.usage, one.check
        running_s = int(self._clock.monotonic() - one.began) if one.began is not None else 0
        texts = (entry for entry in reversed(one.transcript.entries) if isinstance(entry, TextEntry))
        return VariantFacts(
            worktree=one.variant.worktree,
            title=one.variant.model,
            state=state,
            words=words,
            seconds=one.seconds + running_s,
            cost=cost_text(usage.cost_usd, is_partial=usage.is_cost_partial),
            answer=next((entry.text for entry in texts if entry.kind == "text"), ""),
            test=check.output if check is not None else "",
            exit_code=check.exit_code if check is not None else None,
            is_tested=check is not None,
        )

    def _state(self, one: _Running) -> tuple[VariantState, str]:
        turns = one.transcript.turns
        last = one.transcript.entries[-1] if one.transcript.entries else None
        if one.is_discarded:
            return "discarded", one.problem or self.tr("Discarded")
        if one.problem:
            return "failed", one.problem
        if one.handle is not None and turns.is_running:
            if turns.pending_approvals:
                return "asking", self.tr("Waits for your answer")
            doing = last.title if isinstance(last, ToolEntry) else ""
            return "working", doing or turns.activity or self.tr("Working…")
        if one.checking is not None:
            return "testing", self.tr("Testing…")
        match turns.last_end:
            case None:
                return "preparing", self.tr("Making its worktree…")
            case "completed":
                return "done", self.tr("Done")
            case "interrupted":
                return "failed", self.tr("Stopped")
            case _:
                notices = (entry for entry in reversed(one.transcript.entries) if isinstance(entry, NoticeEntry))
                title = next((entry.notice.title for entry in notices), "")
                return "failed", core_words(title) or self.tr("It failed")

    # -- a variant --

    async def _run(self, made: VariantSet, one: _Running, options: SessionOptions, model: ModelRef) -> None:
        wanted = SessionOptions(
            model=model,
            approval=options.approval,
            sandbox=options.sandbox,
            worktree=NewWorktree(name=one.variant.worktree),
        )
        try:
            one.session_id = await self._bench.opener.create_closed(Path(made.folder), wanted)
            handle = await self._live.open(one.session_id)
        except AgentError as error:
            one.problem = " ".join(map(core_words, filter(None, (error.title, error.hint))))
            self._show_all()
            return
        self._navigator.session_opened.emit(handle)
        if one.is_stopped:
            one.problem = self.tr("Stopped before it began")
        else:
            handle.submit(ops.SubmitPrompt(text=made.prompt))
        self._show_all()

    def _follow(self, handle: SessionHandle) -> None:
        session_id = handle.transcript.session.session_id
        for one in self._running.values():
            if session_id and one.session_id == session_id and one.handle is not handle and not handle.read_only:
                self._connect(one, handle)

    def _connect(self, one: _Running, handle: SessionHandle) -> None:
        one.handle, one.transcript, one.problem = handle, handle.transcript, ""
        handle.happened.connect(self._on_happened, Qt.ConnectionType.UniqueConnection)
        handle.replaced.connect(self._showing.start)

    def _on_happened(self, event: ev.Event) -> None:
        handle = self.sender()
        one = next((one for one in self._running.values() if one.handle is handle), None)
        if one is None or not isinstance(handle, SessionHandle):
            return
        one.transcript = handle.transcript
        match event:
            case ev.TurnStarted():
                one.began = self._clock.monotonic()
            case ev.TurnEnded(reason=reason, duration_s=duration_s):
                one.began, one.seconds = None, one.seconds + duration_s
                one.transcript = handle.transcript.copy()  # the session may be closed, which empties its own
                self._launch(self._finish(one, is_tested=reason == "completed"))
            case _:
                pass
        if not self._showing.isActive():
            self._showing.start()

    async def _finish(self, one: _Running, *, is_tested: bool) -> None:
        if is_tested:
            await self._test(one)
        await self._look(one)

    async def _test(self, one: _Running) -> None:
        made = self._set
        if made is None or not made.check or one.checking is not None:
            return
        bench = self._bench
        folder = (await bench.worktrees.find(one.variant.worktree)).worktree.workspace
        one.checking = CommandCheck(bench.paths, bench.live, made.check, folder, bench.environ)
        self._show_all()
        try:
            one.check = await one.checking.run()
            await asyncio.to_thread(bench.variants.note, one.variant.worktree, one.check)
        finally:
            one.checking = None
            self._show_all()

    async def _look(self, one: _Running) -> None:
        """Show how the worktree of a variant differs from the folder."""
        if one.is_discarded:
            return
        worktree, window = one.variant.worktree, self._window
        one.offer = await find_offer(self._bench.worktrees, self._bench.catalog, worktree)
        transitions = one.offer.transitions
        states = [state for each in transitions for state in (each.before, each.after) if state is not None]
        await asyncio.to_thread(self._bench.blobs.put_many, [state.content for state in states])
        keys = [await asyncio.to_thread(left_to_take, one.offer, each) for each in transitions]
        diffs = [await self._panels.diffs.change_diff(change_of(each)) for each in transitions]
        if window is not None and window is self._window and worktree in window.columns:
            window.columns[worktree].show_changes(
                [(diff, left) for diff, left in zip(diffs, keys, strict=True) if left]
            )

    # -- what the user asks for --

    async def _do(self, action: str, worktree: str) -> None:
        chosen = [self._running[worktree]] if worktree else list(self._running.values())
        window = self._window
        assert window is not None
        window.say("")
        try:
            match action:
                case "open":
                    await self._navigator.show_session(chosen[0].session_id)
                    self._panels.window.activateWindow()
                case "stop":
                    for one in chosen:
                        one.is_stopped = True
                        if one.checking is not None:
                            one.checking.interrupt()
                        self._live.submit(one.session_id, ops.Interrupt())
                case "test":
                    await self._finish(chosen[0], is_tested=True)
                case _:
                    for one in chosen:
                        await self._discard(one)
                    if self._set is not None and all(one.is_discarded for one in self._running.values()):
                        await asyncio.to_thread(self._bench.variants.forget, self._set)
                        if isValid(window):
                            window.accept()
        except AgentError as error:
            if isValid(window):
                window.say_error(error)
        self._show_all()

    async def _discard(self, one: _Running) -> None:
        if one.is_discarded or one.is_leaving:
            return
        one.is_leaving = True
        try:
            if one.session_id:
                await self._live.close(one.session_id)
                await self._bench.worktrees.remove(one.variant.worktree)
                if self._navigator.chosen == one.session_id:
                    await self._navigator.show_session(one.session_id)
            one.is_discarded = True
        finally:
            one.is_leaving = False

    async def _take(self, picks: Sequence[tuple[str, str, tuple[HunkKey, ...]]]) -> None:
        """Combine the picked hunks, and apply them in a session of the folder, unless they conflict."""
        window, bench = self._window, self._bench
        assert window is not None
        try:
            names = dict.fromkeys(worktree for worktree, _, _ in picks)
            offers = in_one_folder([await find_offer(bench.worktrees, bench.catalog, name) for name in names])
            offer = await taken(offers, [Pick(*pick) for pick in picks], bench.blobs)
            options = SessionOptions(model=self._panels.session.transcript.session.model, brings_back=offer)
            session_id = await bench.opener.create_closed(offer.folder, options)
        except AgentError as error:
            if isValid(window):
                window.say_error(error)
            return
        if await self._navigator.show_session(session_id):
            handle = self._panels.session.handle
            assert handle is not None
            handle.happened.connect(self._on_taken)
            handle.submit(ops.RedoChanges(selection=ChangeSelection()))

    def _on_taken(self, event: ev.Event) -> None:
        window, handle = self._window, self.sender()
        is_refused = isinstance(event, ev.Notice) and event.code in ev.REFUSALS
        if not (isinstance(event, ev.ChangesRedone) or is_refused) or not isinstance(handle, SessionHandle):
            return
        handle.happened.disconnect(self._on_taken)
        if window is not None and isinstance(event, ev.ChangesRedone):
            count = len({outcome.path for outcome in event.outcomes if outcome.is_done})
            words = plural(
                "VariantControl", count, "%n file is taken and in the review", "%n files are taken and in the review"
            )
            window.say(words, "good")
            for one in self._running.values():
                self._launch(self._look(one))
