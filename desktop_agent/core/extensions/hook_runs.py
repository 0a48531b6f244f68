"""Runs the hooks of one session, each in its own process tree, and combines their answers.

`HookBook` decides what runs: the user's own hooks, and a project's that the user has trusted in their present form.
"""

import asyncio
import json
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Literal, cast

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.ids import CallId
from desktop_agent.core.base.plain_text import shortened
from desktop_agent.core.base.secrets import mask
from desktop_agent.core.extensions.hook_calls import (
    LONGEST_TEXT,
    HookAnswer,
    also_given,
    answer_of,
    given_to,
    names_of,
    response_of,
    taken_back,
)
from desktop_agent.core.extensions.hooks import (
    Hook,
    condition_holds,
    home_hooks,
    is_meant,
    item_of,
    own_hooks,
    project_hooks,
)
from desktop_agent.core.extensions.plugin_store import Plugins
from desktop_agent.core.extensions.plugin_store import State as PluginState
from desktop_agent.core.extensions.untrusted import SecretAt
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import HookDecision, HookEvent, HookState, JsonObject, ToolCall, ToolResult
from desktop_agent.core.settings.loading import FileProblem
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.core.system.processes.child import ChildProcess
from desktop_agent.core.system.processes.runner import Command, ProcessRunner
from desktop_agent.core.system.processes.shell import find_shell

Standing = Literal["in force", "waiting", "off"]
"""`waiting`: for the user's answer about the project or the plugin that brings it."""
HookTrust = Literal["user", "untrusted", "trusted", "changed"]
"""`changed`: it or its script has changed since the user's answer."""


class StandingHook(Struct, frozen=True):
    hook: Hook
    digest: str
    trust: HookTrust
    standing: Standing
    reason: str = ""
    """Why it is off, unless the user switched off this one."""


class HookBook(Struct, frozen=True, kw_only=True, eq=False):
    """The hooks that are defined for a workspace, and which of them are in force."""

    workspace: WorkspaceSettings
    plugins: Plugins
    environ: Mapping[str, str]
    secret_at: SecretAt

    @property
    def root(self) -> Path:
        return self.workspace.root

    def read(self) -> tuple[tuple[StandingHook, ...], tuple[FileProblem, ...]]:
        """Return all hooks, and the problems of their files. Blocks; never raises."""
        settings, root, changed = self.workspace.current.hooks, self.root, self.workspace.changed
        found = own_hooks(self.workspace.loaded.tables) + home_hooks(self.environ) + project_hooks(root, self.secret_at)
        judged = [self._judged(hook, changed) for hook in found.hooks]
        for one in self.plugins.look():
            hooks = one.plugin.hooks if one.plugin is not None else ()
            judged += [_of_plugin(hook, hook.digest(root), one.state, is_on=settings.enabled) for hook in hooks]
        is_off = [one.standing == "in force" and one.digest in settings.off for one in judged]
        made = [replace(one, standing="off") if off else one for one, off in zip(judged, is_off, strict=True)]
        return tuple(made), found.problems

    def _judged(self, hook: Hook, changed: Collection[str]) -> StandingHook:
        item, settings = item_of(hook, self.root), self.workspace.current.hooks
        answer = self.workspace.answer_about(item) if hook.scope == "project" else None
        trust: HookTrust = "user" if hook.scope != "project" else "trusted" if answer == "trusted" else "untrusted"
        if hook.scope == "project" and item.key in changed:
            trust = "changed"
        if not settings.enabled:
            return StandingHook(hook, item.digest, trust, "off", _ALL_OFF)
        if hook.scope == "home" and not settings.from_home:
            return StandingHook(hook, item.digest, trust, "off", "hooks of other programs are switched off")
        if answer == "ignored":
            return StandingHook(hook, item.digest, trust, "off", "you ignore what this project brings")
        return StandingHook(hook, item.digest, trust, "in force" if trust in ("user", "trusted") else "waiting")

    def holds(self, one: StandingHook) -> bool:
        """Whether a hook and its scripts are unchanged since it was judged. Blocks."""
        if one.hook.plugin is not None:
            return self.plugins.starts(one.hook.plugin)
        return one.hook.scope != "project" or one.hook.digest(self.root) == one.digest


_ALL_OFF = "all hooks are switched off"


def _of_plugin(hook: Hook, digest: str, state: PluginState, *, is_on: bool) -> StandingHook:
    trust: HookTrust = "trusted" if state == "on" else "changed" if state == "changed" else "untrusted"
    if not is_on:
        return StandingHook(hook, digest, trust, "off", _ALL_OFF)
    if state in ("waiting", "changed"):
        return StandingHook(hook, digest, trust, "waiting", "its plugin waits for your answer")
    if state == "on":
        return StandingHook(hook, digest, trust, "in force")
    return StandingHook(hook, digest, trust, "off", "its plugin is not used")


class HookOutcome(Struct, frozen=True, kw_only=True):
    """The combined answer of the hooks of one event. Denying overrides asking, which overrides allowing."""

    decision: HookDecision = ""
    reason: str = ""
    by: str = ""
    """The command of the hook that decided."""
    changed: JsonObject | None = None
    context: str = ""


NOTHING = HookOutcome()
_WEIGHT: dict[HookDecision, int] = {"": 0, "allow": 1, "ask": 2, "block": 3, "deny": 3, "stop": 4}

USUAL_S = 600.0
PROMPT_S = 30.0
END_S = 1.5
"""The time limit of hooks at the end of a session, which does not wait for them any longer."""
_OUTPUT_BYTES = 2**20
"""A hook that prints more is ended."""
_SHOWN_CHARS = 8_000
_NO_ANSWER = frozenset({126, 127})
"""The exit codes with which a shell says that it could not run the program."""
MOST_BLOCKS = 8
"""How many times in a row hooks can make a turn continue, as in Claude Code."""


class HookHost(Struct, frozen=True, kw_only=True, eq=False):
    """What the hooks of a session need to run."""

    processes: ProcessRunner
    environ: Callable[[], Mapping[str, str]]
    session: Callable[[], JsonObject]
    """Returns the fields that every hook reads."""
    subagent: str
    """The role of the sub-agent whose session this is; empty if it is the user's."""
    is_attended: bool
    """Whether there is a user who can answer."""
    clock: Clock


class _Output:
    def __init__(self) -> None:
        self.data = bytearray()
        self.is_full = False
        self.child: ChildProcess | None = None

    def take(self, data: bytes) -> None:
        self.data += data[: _OUTPUT_BYTES - len(self.data)]
        if len(self.data) >= _OUTPUT_BYTES:
            self.is_full = True
            if self.child is not None:
                self.child.ask_to_end()

    def belong_to(self, child: ChildProcess) -> None:
        self.child = child
        if self.is_full:
            child.ask_to_end()

    @property
    def text(self) -> str:
        return mask(self.data.decode(errors="replace"))


class _Run(Struct, frozen=True, kw_only=True):
    hook: Hook
    state: HookState
    answer: HookAnswer = field(default_factory=HookAnswer)
    exit_code: int | None = None
    output: str = ""
    duration_s: float = 0.0


class _Moment(Struct, frozen=True, kw_only=True):
    event: HookEvent
    turn: int
    call_id: CallId


class _Runner:
    """Runs hooks, each in its own process tree, and records how each ended."""

    def __init__(self, book: HookBook, host: HookHost, log: EventLog) -> None:
        self._book = book
        self._host = host
        self._log = log

    async def run(self, one: StandingHook, given: JsonObject, moment: _Moment) -> _Run:
        hook, began = one.hook, self._host.clock.monotonic()
        try:
            if not await asyncio.to_thread(self._book.holds, one):
                why = "It, or a script of it, changed since you trusted it, so it did not run."
                run = _Run(hook=hook, state="changed", answer=HookAnswer(reason=why))
            else:
                run = await self._carry_out(hook, given, moment.event)
        except asyncio.CancelledError:
            stopped = _Run(hook=hook, state="stopped", duration_s=self._host.clock.monotonic() - began)
            await self.record(stopped, moment)
            raise
        run = replace(run, duration_s=self._host.clock.monotonic() - began)
        return _unchecked(run) if moment.event == "PreToolUse" else run

    async def _carry_out(self, hook: Hook, given: JsonObject, event: HookEvent) -> _Run:
        root = self._book.root
        environ = {**self._host.environ(), "CLAUDE_PROJECT_DIR": str(root), **hook.variables}
        argv = await asyncio.to_thread(_argv, hook, environ, root)
        if argv is None:
            return _Run(hook=hook, state="not_started", answer=HookAnswer(reason="There is no shell to run it with."))
        stdin = json.dumps(given | also_given(hook.dialect, event, given))
        command = Command(argv=argv, cwd=root, environ=environ, stdin=stdin)
        output, errors = _Output(), _Output()
        try:
            child = await self._host.processes.start(command, output.take, errors.take, is_limited=True)
        except (OSError, ValueError) as error:  # the latter for a NUL, which no argument can contain
            return _Run(hook=hook, state="not_started", answer=HookAnswer(reason=f"It could not be started: {error}"))
        try:
            output.belong_to(child)
            errors.belong_to(child)
            limit_s = _limit_s(hook, event)
            is_over = await child.wait(limit_s) or child.has_exited
        finally:
            end = await child.end()
        printed = "\n".join(filter(None, (output.text.strip(), errors.text.strip())))
        run = _Run(hook=hook, state="completed", exit_code=end.exit_code, output=printed)
        if end.excess:
            why = f"It was ended, because {end.excess}."
            return replace(run, state="failed", answer=HookAnswer(reason=why, is_unreadable=True))
        if output.is_full or errors.is_full:
            why = f"It printed more than {_OUTPUT_BYTES // 2**20} MiB, and was ended."
            return replace(run, state="flooded", answer=HookAnswer(reason=why))
        if not is_over:
            why = f"It took longer than {limit_s:g} s, and was ended."
            return replace(run, state="timed_out", answer=HookAnswer(reason=why))
        answer = await asyncio.to_thread(answer_of, event, end.exit_code, output.text, errors.text)
        is_failed = end.exit_code not in (0, 2) or answer.is_unreadable
        return replace(run, state="failed" if is_failed else "completed", answer=answer)

    async def record(self, run: _Run, moment: _Moment, *, drops_prompt: bool = False) -> None:
        answer, hook = run.answer, run.hook
        context = answer.context if moment.event != "PreCompact" else ""
        if answer.decision == "block" and moment.event in ("Stop", "PostToolUse", "SubagentStop"):
            context = "\n".join(filter(None, (answer.reason, context)))
        await self._log.record(
            ev.HookRan(
                turn=moment.turn,
                moment=moment.event,
                command=shortened(hook.line, LONGEST_TEXT),
                path=str(hook.path),
                call_id=moment.call_id,
                state=run.state,
                exit_code=run.exit_code,
                duration_s=round(run.duration_s, 3),
                decision=answer.decision,
                reason=answer.reason,
                message=answer.message,
                changed=answer.changed,
                context="" if drops_prompt else context,
                output=_shown(run.output),
                drops_prompt=drops_prompt and answer.decision in ("block", "stop"),
            )
        )

    async def run_beside(self, one: StandingHook, given: JsonObject, moment: _Moment) -> None:
        run = await self.run(one, given, moment)
        await self.record(replace(run, answer=replace(run.answer, decision="", changed=None, context="")), moment)


class Hooks:
    """The hooks of one session. Every event is awaited; one without hooks costs nothing."""

    def __init__(self, book: HookBook, host: HookHost, log: EventLog) -> None:
        self._book = book
        self._host = host
        self._log = log
        self._runner = _Runner(book, host, log)
        self._in_force: tuple[StandingHook, ...] = ()
        self._told: set[FileProblem] = set()
        self._has_started = False
        self._stopped: dict[int, str] = {}
        self._blocks = 0
        self._beside: set[asyncio.Task[object]] = set()

    # -- the moments --

    async def before_turn(self, turn: int, prompt: str, *, is_resumed: bool) -> bool:
        """Return whether the prompt may go to the model."""
        await self.refresh(turn)
        self._blocks = 0
        if not self._has_started:
            self._has_started = True
            await self._start(turn, "resume" if is_resumed else "startup")
        if not self._host.subagent and not await self.may_say(turn, prompt, begins_turn=True):
            self._has_started = False  # what was told at the start went with the prompt
            return False
        return True

    async def may_say(self, turn: int, prompt: str, *, begins_turn: bool = False) -> bool:
        outcome = await self._meet("UserPromptSubmit", turn, {"prompt": prompt}, drops_prompt=begins_turn)
        return outcome.decision not in ("block", "stop")

    async def before_call(self, turn: int, call: ToolCall) -> HookOutcome:
        """`changed` is in our own words."""
        return self._in_our_words(call, await self._meet("PreToolUse", turn, self._facts(call), call=call))

    async def at_question(self, turn: int, call: ToolCall) -> HookOutcome:
        return self._in_our_words(call, await self._meet("PermissionRequest", turn, self._facts(call), call=call))

    async def after_call(self, turn: int, call: ToolCall, result: ToolResult) -> None:
        if self._has("PostToolUse"):
            fields = self._facts(call) | {"tool_response": response_of(call, result)}
            await self._meet("PostToolUse", turn, fields, call=call)

    async def before_end(self, turn: int, said: str) -> bool:
        """Return whether a hook makes the turn continue. After `MOST_BLOCKS` times in a row, hooks are not asked."""
        if self._blocks > MOST_BLOCKS:
            return False
        fields: JsonObject = {"stop_hook_active": self._blocks > 0, "last_assistant_message": said}
        kind = self._host.subagent
        outcome = await self._meet("SubagentStop" if kind else "Stop", turn, fields, names=(kind,) if kind else ())
        if outcome.decision != "block":
            return False
        self._blocks += 1
        if self._blocks > MOST_BLOCKS:
            title = f"A hook kept the turn from ending {MOST_BLOCKS} times in a row, so it ended anyway."
            hint = "The hook should let it end when stop_hook_active is true."
            await self._log.record(ev.Notice(level="warning", code="hooks", title=title, hint=hint, turn=turn))
        return self._blocks <= MOST_BLOCKS

    async def before_compaction(self, turn: int, *, is_automatic: bool, focus: str) -> HookOutcome:
        """`context` is what the summary must keep."""
        fields: JsonObject = {"trigger": _trigger(is_automatic=is_automatic), "custom_instructions": focus or None}
        return await self._meet("PreCompact", turn, fields, names=(str(fields["trigger"]),))

    async def after_compaction(self, turn: int, *, is_automatic: bool, summary: str) -> None:
        fields: JsonObject = {"trigger": _trigger(is_automatic=is_automatic), "compact_summary": summary}
        await self._meet("PostCompact", turn, fields, names=(str(fields["trigger"]),))
        if self._has_started and not self._host.subagent:
            await self._start(turn, "compact")

    def hear(self, event: ev.Event) -> None:
        """Run the hooks for what waits for the user. A sub-agent's questions are in its parent's session, too."""
        if not self._host.is_attended or self._host.subagent or not self._has("Notification"):
            return
        match event:
            case ev.ApprovalRequested(turn=turn, request=request):
                kind = "permission_prompt" if request.question is None else "elicitation_dialog"
                message = request.title
            case ev.TurnEnded(turn=turn, reason=reason) if reason != "interrupted":
                kind, message = "idle_prompt", "The agent is done."
                if reason != "completed":
                    message = "The turn ended before the agent was done."
            case _:
                return
        fields: JsonObject = {"notification_type": kind, "message": message, "title": "Desktop Agent"}
        self._put_beside(self._meet("Notification", turn, fields, names=(kind,)))  # nothing waits for these hooks

    async def end(self, turn: int) -> None:
        """Call this when the session closes, before its journal does."""
        if self._beside:
            await asyncio.wait(self._beside, timeout=END_S)
        for task in self._beside:
            task.cancel()
        while self._beside:
            await asyncio.wait(self._beside)
        if self._has_started and not self._host.subagent and self._has("SessionEnd"):
            await self._meet("SessionEnd", turn, {"reason": "other"}, names=("other",))

    def why_stopped(self, turn: int) -> str | None:
        """Return why a hook stopped the turn; `None` if none did."""
        return self._stopped.get(turn)

    async def refresh(self, turn: int) -> None:
        hooks, problems = await asyncio.to_thread(self._book.read)
        self._in_force = tuple(one for one in hooks if one.standing == "in force")
        for problem in problems:
            if problem not in self._told:
                self._told.add(problem)
                title = f"A hook was not used: {problem}."
                await self._log.record(ev.Notice(level="warning", code="hooks", title=title, turn=turn or None))

    # -- running them --

    def _has(self, event: HookEvent) -> bool:
        return any(one.hook.event == event for one in self._in_force)

    def _facts(self, call: ToolCall) -> JsonObject:
        given = given_to(call.name, call.arguments, self._book.root)
        return {"tool_name": names_of(call.name)[0], "tool_input": given, "tool_use_id": call.id}

    def _in_our_words(self, call: ToolCall, outcome: HookOutcome) -> HookOutcome:
        if outcome.changed is None:
            return outcome
        changed = taken_back(call.name, outcome.changed, call.arguments, self._book.root)
        return replace(outcome, changed=changed if changed != call.arguments else None)

    async def _start(self, turn: int, source: str) -> None:
        if kind := self._host.subagent:
            await self._meet("SubagentStart", turn, {}, names=(kind,))
        else:
            await self._meet("SessionStart", turn, {"source": source}, names=(source,))

    async def _meet(
        self,
        event: HookEvent,
        turn: int,
        fields: JsonObject,
        *,
        names: Collection[str] = (),
        call: ToolCall | None = None,
        drops_prompt: bool = False,
    ) -> HookOutcome:
        """Run all hooks for an event in parallel, and record them in their order."""
        names = names_of(call.name) if call is not None else names
        found = [one for one in self._in_force if one.hook.event == event and is_meant(one.hook, names)]
        if any(one.hook.condition for one in found):
            found = await asyncio.to_thread(self._with_condition, found, names, fields)
        found = list({(one.hook.command, one.hook.args): one for one in reversed(found)}.values())[::-1]
        if not found:
            return NOTHING
        given = self._host.session() | {"hook_event_name": event} | fields
        moment = _Moment(event=event, turn=turn, call_id=call.id if call is not None else "")
        for one in found:
            if one.hook.is_async:
                self._put_beside(self._runner.run_beside(one, given, moment))
        found = [one for one in found if not one.hook.is_async]
        self._say(turn, f"Running hooks: {event}" if found else "")
        try:
            runs = await asyncio.gather(*(self._runner.run(one, given, moment) for one in found))
        finally:
            self._say(turn, "")
        outcome = _together(runs)
        if outcome.decision == "stop":
            self._stopped[turn] = outcome.reason or "A hook stopped the turn."
        drops = drops_prompt and outcome.decision in ("block", "stop")
        for run in runs:
            await self._runner.record(run, moment, drops_prompt=drops)
        return outcome

    def _with_condition(
        self, found: Sequence[StandingHook], names: Collection[str], fields: JsonObject
    ) -> list[StandingHook]:
        given = fields.get("tool_input")
        values = cast("JsonObject", given) if isinstance(given, dict) else {}
        return [one for one in found if condition_holds(one.hook, names, values, self._book.root)]

    def _put_beside(self, work: Coroutine[object, object, object]) -> None:
        task = asyncio.create_task(work, name="hook")
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    def _say(self, turn: int, message: str) -> None:
        self._log.emit(ev.ToolProgress(turn=turn, call_id="", name="hooks", message=message))


def _trigger(*, is_automatic: bool) -> str:
    return "auto" if is_automatic else "manual"


def _argv(hook: Hook, environ: Mapping[str, str], root: Path) -> tuple[str, ...] | None:
    if hook.args is not None:
        return hook.command, *hook.args
    shell = find_shell(environ, root)
    return None if shell is None else shell.argv(hook.command)


def _limit_s(hook: Hook, event: HookEvent) -> float:
    usual = {"SessionEnd": END_S, "UserPromptSubmit": PROMPT_S}.get(event, USUAL_S)
    return min(hook.timeout_s or usual, 10.0) if event == "SessionEnd" else hook.timeout_s or usual


def _unchecked(run: _Run) -> _Run:
    """Have the user asked if a hook could not check a call as it should: a failure must not count as approval."""
    code = run.exit_code
    is_lost = code is not None and (code in _NO_ANSWER or code >= 128)
    if (
        run.state == "completed"
        or run.answer.decision
        or (run.state == "failed" and not (is_lost or run.answer.is_unreadable))
    ):
        return run
    why = run.answer.reason or f"It ended with code {code}."
    return replace(run, answer=HookAnswer(decision="ask", reason=f"A hook could not check this. {why}"))


def _together(runs: Sequence[_Run]) -> HookOutcome:
    made = NOTHING
    for run in runs:
        answer = run.answer
        weight, before = _WEIGHT[answer.decision], _WEIGHT[made.decision]
        if weight and weight == before and answer.reason:
            made = replace(made, reason="\n".join(filter(None, (made.reason, answer.reason))))
        if weight > before:
            made = replace(made, decision=answer.decision, reason=answer.reason, by=run.hook.line)
        made = replace(
            made,
            changed=answer.changed if answer.changed is not None else made.changed,
            context="\n".join(filter(None, (made.context, answer.context))),
        )
    return made


def _shown(output: str) -> str:
    if len(output) <= _SHOWN_CHARS:
        return output
    half = _SHOWN_CHARS // 2
    return f"{output[:half]}\n[… {len(output) - 2 * half:,} characters …]\n{output[-half:]}"
