"""What the commands do: about the session (model, context, pins, settings, status, other turns) and its changes."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import AgentError, StorageError, UsageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.plain_text import number_of
from desktop_agent.core.changes.net import net_changes
from desktop_agent.core.changes.patch import patch_of
from desktop_agent.core.context_window import ContextManager
from desktop_agent.core.export import ExportForm
from desktop_agent.core.extensions.skills_in_force import Skills
from desktop_agent.core.mcp.connection import Connection
from desktop_agent.core.models.known_model import OWN, KnownModel, effort_meant, levels_of
from desktop_agent.core.models.vendors import DEMO, known_vendor
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import (
    AGENTS,
    ChangeSelection,
    FileImage,
    FileOutcome,
    ModelRef,
    Pin,
    RewindScope,
)
from desktop_agent.core.providers.auth.accounts import AccountsFile
from desktop_agent.core.settings.live_settings import SettingChange
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.settings.values import read_value, setting_values, shown_value, value_of
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.core.slash.declarations import (
    BUILT_IN,
    Declaration,
    Invocation,
    bullets,
    code,
    fenced,
    first_word,
    plain_text,
    short_line,
)
from desktop_agent.core.transcript import ChangeRecord, CompactionEntry, Transcript
from desktop_agent.core.undo.refusals import Direction, describe_outcome, describe_step

E = TypeVar("E", bound=ev.DurableEvent)


class Services(Struct, frozen=True, kw_only=True):
    """Services of the application. Commands without their service are not offered."""

    config: Callable[[Path], WorkspaceSettings] | None = None
    forker: Callable[[SessionId, int | None], Awaitable[SessionId]] | None = None
    """Copies a session as it was before the given turn, and returns the id of the copy. Raises `AgentError`."""
    exporter: Callable[[SessionId, ExportForm, Path], Awaitable[int]] | None = None
    """Writes a session to a new file and returns its size in bytes; raises `UsageError` if the file exists."""

    @property
    def commands(self) -> tuple[Declaration, ...]:
        missing = {
            name
            for name, service in (("config", self.config), ("fork", self.forker), ("export", self.exporter))
            if service is None
        }
        return tuple(command for command in BUILT_IN if command.name not in missing)


class CommandParts(Struct, frozen=True, kw_only=True):
    transcript: Transcript
    context_manager: ContextManager
    workspace: Path
    skills: Skills
    contents: Callable[[FileImage | None], bytes | None]
    """Returns the content of a recorded file; `None` if there is none. Blocks."""
    services: Services
    provider_ids: tuple[str, ...]
    model_meant: Callable[[NamedModel, ModelRef | None], ModelRef]
    """Completes a partly named model from the current model and the settings."""
    accounts: AccountsFile
    servers: Callable[[], tuple[Connection, ...]]


class Performed(Struct, frozen=True):
    """The outcome of an op that a command asked for."""

    events: list[ev.KnownEvent]
    """The recorded events, and the notices that the command must report itself."""
    task: "asyncio.Task[None] | None" = None
    """The part of the work that continues in the background. It adds to `events`."""

    @property
    def notice(self) -> ev.Notice | None:
        return self.first(ev.Notice)

    def first(self, kind: type[E]) -> E | None:
        return next((event for event in self.events if isinstance(event, kind)), None)

    def refused(self, otherwise: str) -> "Reply":
        return refusal(self.notice) if self.notice is not None else Reply(otherwise, is_error=True)


class SessionControls(Struct, frozen=True, kw_only=True):
    perform: Callable[[ops.Op], Awaitable[Performed]]
    prompt: Callable[[str, str], Awaitable[object]]
    """Sends or queues a prompt. The second text is the part that the user typed, which may have mentions."""
    prompt_later: Callable[[str], None]
    """Sends a prompt when the session has finished its current work, without waiting."""
    say: Callable[[ev.CommandRun], Awaitable[None]]
    is_busy: Callable[[], bool]


class Reply(Struct, frozen=True):
    output: str
    is_error: bool = False
    opens: SessionId = ""


Answer = Reply | Awaitable[Reply]
"""An awaitable answer comes later, while the session continues."""


def refusal(notice: ev.Notice) -> Reply:
    return Reply("\n\n".join(filter(None, (f"{notice.title} {notice.hint}".strip(), notice.detail))), is_error=True)


def no_more(words: Sequence[str], usage: str) -> None:
    if words:
        raise UsageError(f"`{words[0]}` is not expected there.", hint=f"Write it as `{usage}`.")


@contextmanager
def reported() -> Generator[None]:
    """Turn a `StorageError` into an answer, because only the session's own journal may stop the session."""
    try:
        yield
    except StorageError as error:
        raise AgentError(error.title, hint=error.hint, detail=error.detail) from error


async def model(invocation: Invocation, parts: CommandParts, controls: SessionControls) -> Reply:
    """Show or set the model. A name without a provider means one of the current provider and account."""
    now = parts.transcript.session.model
    if not invocation.words:
        shown = _model_line(now) if now is not None else "none"
        known = ", ".join(code(name) for name in parts.provider_ids)
        return Reply(
            f"The model is {shown}. `/model PROVIDER/NAME` chooses another, `/model PROVIDER/NAME ACCOUNT` another "
            f"account as well; providers: {known}. `/model {AGENTS}/NAME` chooses an agent of another program."
        )
    wanted, *more = invocation.words
    if wanted.startswith(f"{AGENTS}/"):  # its command line may have spaces
        wanted, more = plain_text(invocation.rest), []
    account = more.pop(0) if more else None
    no_more(more, "/model PROVIDER/NAME ACCOUNT")
    provider, slash, name = wanted.partition("/")
    if not slash and now is not None:
        provider, name = now.provider, wanted
    if provider not in (*parts.provider_ids, AGENTS):
        known = ", ".join(code(known) for known in parts.provider_ids)
        raise UsageError(f"There is no provider {code(provider)}.", hint=f"Available: {known}.")
    if not name:
        raise UsageError("The name of the model is missing.", hint=f"Write `/model {provider}/NAME`.")
    chosen = parts.model_meant(NamedModel(provider=provider, model=name, account=account), now)
    if chosen.account and not chosen.is_agent and chosen.provider != DEMO:
        (await asyncio.to_thread(parts.accounts.load)).of_model(chosen)  # raises an error that lists what there is
    done = await controls.perform(ops.SetMode(model=chosen))
    if done.notice is not None:
        return refusal(done.notice)
    when = "the next turn" if controls.is_busy() else "now"
    return Reply(f"The model is {_model_line(chosen)} from {when} on.")


def _model_line(model: ModelRef) -> str:
    name = code(model.shown)
    return f"{name}, by the account {code(model.account)}," if model.account else name


async def config(invocation: Invocation, parts: CommandParts, controls: SessionControls) -> Reply:
    settings_in = parts.services.config
    assert settings_in is not None, "not offered without settings"
    settings = settings_in(parts.workspace)
    action, rest = first_word(invocation.rest)
    if action.lower() == "set":
        key, value = _assignment(rest)
        with reported():
            return Reply(_change_words(await settings.live.change(key, read_value(value)), settings))
    no_more(invocation.words[1:], "/config [KEY | set KEY=VALUE]")
    beginning = f"{action}." if action else ""
    values = {key: value for key, value in setting_values(settings.current).items() if value is not None}
    shown = [f"{key} = {shown_value(value)}" for key, value in values.items() if f"{key}.".startswith(beginning)]
    if not shown:
        raise UsageError(f"There is no setting {code(action)}.", hint="`/config` lists them all.")
    return Reply(fenced("\n".join(shown), "toml"))


def _change_words(change: SettingChange, settings: WorkspaceSettings) -> str:
    key, source = change.key, settings.loaded.sources.get(change.key)
    if change.overridden_by is not None:
        return f"`{key}` is saved, but {change.overridden_by} takes precedence over the settings file."
    if source is not None and source.kind == "project":
        now = shown_value(value_of(settings.current, key))
        return f"`{key}` is saved, but this project is stricter: here it is `{now}`, from `{source}`."
    where = f" It is in `{settings.live.path}`." if settings.live.path is not None else ""
    return f"`{key}` is `{shown_value(change.after) or 'not set'}` from the next step on.{where}"


def _assignment(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        key, value = first_word(text)
    key = key.strip()
    if not key or len(key.split()) > 1 or not value.strip():
        raise UsageError(
            "Which setting, and which value?", hint="Write `/config set KEY=VALUE`; `/config` lists them all."
        )
    return key, plain_text(value)


async def effort(invocation: Invocation, parts: CommandParts, controls: SessionControls) -> Reply:
    no_more(invocation.words[1:], "/effort LEVEL")
    model = parts.transcript.session.model
    if model is not None and model.is_agent:
        raise UsageError(f"{model.name} decides by itself how much it thinks.", hint="It may have an option for it.")
    known = await parts.context_manager.look_up_model(model) if model is not None else None
    if model is None or known is None:
        raise UsageError("Nothing is known about the model, so its effort cannot be set.")
    if not invocation.words:
        return Reply(_effort_words(model, known))
    level = effort_meant(invocation.words[0], known)
    done = await controls.perform(ops.SetMode(model=replace(model, effort=level)))
    if done.notice is not None:
        return refusal(done.notice)
    when = "the next turn" if controls.is_busy() else "now"
    return Reply(f"The effort of {code(known.shown)} is {_level_words(level)} from {when} on.")


def _effort_words(model: ModelRef, known: KnownModel) -> str:
    levels = levels_of(known)
    if not levels:
        return f"{code(known.shown)} has no effort levels."
    listed = ", ".join(map(code, (OWN, *levels)))
    unsure = "" if known.takes_effort else " Which of them this model takes is not known."
    is_unfit = bool(model.effort) and model.effort not in levels
    unfit = ", which this model does not know, so none is asked of it" if is_unfit else ""
    return f"The effort is {_level_words(model.effort)}{unfit}. `/effort LEVEL` sets another: {listed}.{unsure}"


def _level_words(level: str) -> str:
    return code(level) if level else "the model's own"


async def compact(invocation: Invocation, parts: CommandParts, controls: SessionControls) -> Answer:
    done = await controls.perform(ops.Compact(focus=plain_text(invocation.rest)))
    return _compaction_reply(done) if done.task is None else _when_compacted(done, done.task)


async def _when_compacted(done: Performed, task: asyncio.Task[None]) -> Reply:
    await asyncio.wait([task])
    return _compaction_reply(done)


def _compaction_reply(done: Performed) -> Reply:
    notice = done.notice
    if (event := done.first(ev.Compacted)) is not None:
        remark = f"\n\n{notice.title} {notice.hint}".rstrip() if notice is not None else ""
        return Reply(_compaction_words(event) + remark)
    if notice is not None:
        words = f"{notice.title} {notice.hint}".rstrip()
        return Reply(words) if notice.level == "info" else Reply(f"Compaction: {words}", is_error=True)
    return Reply("Compaction was stopped, so nothing was summarised.", is_error=True)


def _compaction_words(event: ev.Compacted) -> str:
    summary = event.summary
    kept = (
        (summary.goals, "goal"), (summary.decisions, "decision"), (summary.constraints, "constraint"),
        (summary.files, "file"), (summary.apis, "API"), (summary.todos, "to-do"),
    )  # fmt: skip
    lines = [f"Tokens: about {event.tokens_before:,} → {event.tokens_after:,}"]
    if found := ", ".join(number_of(len(items), word) for items, word in kept if items):
        lines.append(f"Kept of the older turns: {found}")
    if event.focus:
        lines.append(f"Above all: {code(event.focus)}")
    head = f"Compaction done: everything through turn {event.through_turn} is summarised for the model."
    return f"{head}\n\n{bullets(lines)}"


_USAGE = "Write `/pin add [--ttl=SECONDS] TEXT`, `/pin remove ID` or `/pin list`."


async def pin(invocation: Invocation, parts: CommandParts, controls: SessionControls) -> Reply:
    action, rest = first_word(invocation.rest)
    match action.lower():
        case "add":
            return await _add_pin(rest, controls)
        case "remove":
            return await _remove_pin(rest, controls)
        case "" | "list" if not rest:
            await parts.context_manager.pins.expire()
            pins = parts.transcript.context.pins.values()
            return Reply(bullets(map(pin_words, pins)) if pins else "Nothing is pinned. `/pin add TEXT` pins a text.")
        case _:
            raise UsageError(f"/pin cannot {code(action)}.", hint=_USAGE)


async def unpin(invocation: Invocation, parts: CommandParts, controls: SessionControls) -> Reply:
    return await _remove_pin(invocation.rest, controls)


def pin_words(pin: Pin) -> str:
    until = f", until {pin.expires_at:%Y-%m-%d %H:%M:%S} UTC" if pin.expires_at is not None else ""
    return f"{code(pin.id)}{until}: {code(short_line(pin.text))}"


async def _add_pin(rest: str, controls: SessionControls) -> Reply:
    ttl_s: float | None = None
    word, behind = first_word(rest)
    if word == "--ttl" or word.startswith("--ttl="):
        value = word.removeprefix("--ttl").removeprefix("=")
        if not value:
            value, behind = first_word(behind)
        ttl_s, rest = _seconds(value), behind
    elif word.startswith("--") and len(word) > 2:
        raise UsageError(f"/pin add has no option {code(word)}.", hint=_USAGE)
    text = plain_text(rest)
    if not text:
        raise UsageError("There is nothing to pin: the text is empty.", hint=_USAGE)
    done = await controls.perform(ops.AddPin(text=text, ttl_s=ttl_s))
    pinned = done.first(ev.Pinned)
    return Reply(f"Pinned {pin_words(pinned.pin)}") if pinned is not None else done.refused("Nothing was pinned.")


async def _remove_pin(rest: str, controls: SessionControls) -> Reply:
    pin_id = plain_text(rest)
    if not pin_id:
        raise UsageError("Which pin?", hint="`/pin list` lists them with their ids.")
    done = await controls.perform(ops.RemovePin(pin_id=pin_id))
    if done.notice is not None:
        return refusal(done.notice)
    return Reply(f"Unpinned {code(pin_id)}.")


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        message = f"--ttl is a number of seconds, not {code(text)}."
        raise UsageError(message, hint="`--ttl=3600` keeps it for an hour.") from None


_SOURCES = {"reported": "as the provider reported it", "counted": "counted by the provider", "estimated": "estimated"}


async def status(invocation: Invocation, parts: CommandParts, controls: SessionControls) -> Reply:
    no_more(invocation.words, "/status")
    await parts.context_manager.pins.expire()
    transcript, model = parts.transcript, parts.transcript.session.model
    name = model.shown if model is not None else "none"
    effort = f", effort {code(model.effort)}" if model is not None and model.effort else ""
    state = {"idle": "idle", "working": "working", "waiting": "waiting for you"}[transcript.turns.status]
    queued = f", {len(transcript.turns.queued)} waiting" if transcript.turns.queued else ""
    lines = [
        await _tokens(parts),
        f"Auto-compaction: {_auto(parts)}",
        f"Last compaction: {_last_compaction(parts)}",
        f"Active pins: {len(transcript.context.pins) or 'none'}",
        *(f"  {pin_words(pin)}" for pin in transcript.context.pins.values()),
        f"Model: {code(name)}{effort}",
        *await _destination(parts, model),
        f"Mode: approval {code(transcript.session.approval)}, sandbox {code(transcript.session.sandbox)}",
        f"State: {state}{queued}, {number_of(transcript.turn, 'turn')}",
        f"Session: {code(transcript.session.session_id)}",
        f"Folder: {code(str(parts.workspace))}",
    ]
    return Reply(bullets(lines).replace("\n-   ", "\n  - "))


async def _tokens(parts: CommandParts) -> str:
    model = parts.transcript.session.model
    if parts.context_manager.meter.use is None and model is not None:
        await parts.context_manager.measure(provider=None)
    use = parts.context_manager.meter.use
    if use is None:
        return "Tokens: not known yet"
    share = f" ({use.tokens / use.window:.0%})" if use.window else ""
    theirs = f", about {use.server_tool_tokens:,} for tools of MCP servers" if use.server_tool_tokens else ""
    searched = f"; {number_of(use.deferred_tools, 'tool')} of theirs left to a search" if use.deferred_tools else ""
    return f"Tokens: {use.tokens:,} of {use.window:,}{share}, {_SOURCES[use.source]}{theirs}{searched}"


async def _destination(parts: CommandParts, model: ModelRef | None) -> list[str]:
    vendor = known_vendor(model.provider) if model is not None else None
    if model is None or vendor is None:
        return []
    address = await asyncio.to_thread(parts.accounts.address_of, model)
    return [f"Requests go to: {code(address or vendor.address)}"]


def _auto(parts: CommandParts) -> str:
    model = parts.transcript.session.model
    if model is not None and model.is_agent:
        return "left to the agent"
    target = parts.context_manager.target(model) if model is not None else 0
    running = ", and one is being made now" if parts.context_manager.is_compacting else ""
    return (f"on, above {target:,} tokens" if target else "off") + running


def _last_compaction(parts: CommandParts) -> str:
    entries = parts.transcript.entries
    done = [entry.event for entry in entries if isinstance(entry, CompactionEntry) and not entry.is_undone]
    if not done:
        in_force = parts.context_manager.history.fold.compaction  # its entry may stand on a page that is not loaded
        return f"through turn {in_force.through_turn}" if in_force is not None else "none"
    last = done[-1]
    tokens = f", about {last.tokens_before:,} → {last.tokens_after:,} tokens" if last.tokens_before else ""
    how = "by itself" if last.is_automatic else "as you asked"
    return f"{last.at:%Y-%m-%d %H:%M} UTC, through turn {last.through_turn}, {how}{tokens}"


_SCOPES: dict[str, RewindScope] = {"conversation": "conversation", "files": "files", "both": "both"}
_SHOWN_TURNS = 20
_GONE = {
    "conversation": "The model no longer sees what came after; the files stay as they are.",
    "files": "The files are as they were before; the conversation stays.",
    "both": "The model no longer sees what came after, and the files are as they were before.",
}
_PARTLY_GONE = {
    "conversation": "The model no longer sees what came after.",
    "files": "",
    "both": "The model no longer sees what came after.",
}


async def rewind(invocation: Invocation, parts: CommandParts, controls: SessionControls) -> Reply:
    if not invocation.words:
        return Reply(_turns(parts))
    number, *more = invocation.words
    name, *rest = more or ["both"]
    no_more(rest, "/rewind TURN [conversation|files|both]")
    turn, scope = _turn(number), _SCOPES.get(name.lower())
    if scope is None:
        raise UsageError(f"{code(name)} is not a scope of /rewind.", hint="Use `conversation`, `files` or `both`.")
    done = await controls.perform(ops.RewindTo(turn=turn, scope=scope))
    if done.first(ev.Rewound) is None:
        return done.refused("Nothing was rewound.")
    left = [outcome for e in done.events if isinstance(e, ev.ChangesUndone) for outcome in e.outcomes]
    failed = [code(outcome.path) for outcome in left if not outcome.is_done]
    sentences = [f"Went back to before turn {turn}.", (_PARTLY_GONE if failed else _GONE)[scope]]
    if failed:
        sentences.append(f"Left as they are: {', '.join(failed)}.")
    return Reply(" ".join(filter(None, sentences)))


async def fork(invocation: Invocation, parts: CommandParts, controls: SessionControls) -> Reply:
    forker = parts.services.forker
    assert forker is not None, "not offered without it"
    no_more(invocation.words[1:], "/fork [TURN]")
    turn = _turn(invocation.words[0]) if invocation.words else None
    with reported():
        made = await forker(parts.transcript.session.session_id, turn)
    where = f" before turn {turn}" if turn is not None else ""
    text = f"Forked{where}: the copy is session {code(made)}. This one stays as it is."
    return Reply(text, opens=made)


async def clear(invocation: Invocation, parts: CommandParts, controls: SessionControls) -> Reply:
    no_more(invocation.words, "/clear")
    return Reply("A new conversation begins with your next prompt. This one stays in the list of sessions.")


def _turns(parts: CommandParts) -> str:
    transcript = parts.transcript
    seen = [(turn, text) for turn, text in transcript.turns.prompts.items() if turn not in transcript.context.rewound]
    if not seen:
        return "There is no turn to go back to yet."
    lines = [f"{turn}: {code(short_line(text, 80))}" for turn, text in seen[-_SHOWN_TURNS:]]
    return f"`/rewind TURN` goes back to before one of these:\n\n{bullets(lines)}"


def _turn(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise UsageError(f"{code(text)} is not the number of a turn.", hint="`/rewind` lists the turns.")
    return int(text)


MAX_PATCH_CHARS = 60_000


async def undo(invocation: Invocation, parts: CommandParts, controls: SessionControls) -> Reply:
    done = await controls.perform(ops.UndoChanges(selection=_selection(invocation, "undo", parts)))
    undone = done.first(ev.ChangesUndone)
    return _reply_about("Undone", undone.outcomes) if undone is not None else done.refused("Nothing was undone.")


async def redo(invocation: Invocation, parts: CommandParts, controls: SessionControls) -> Reply:
    if invocation.words[:1] == ("steps",):
        no_more(invocation.words[1:], "/redo steps")
        return _steps(parts)
    done = await controls.perform(_redo_op(invocation, parts))
    redone = done.first(ev.ChangesRedone)
    return _reply_about("Applied again", redone.outcomes) if redone is not None else done.refused("Nothing was redone.")


async def diff(invocation: Invocation, parts: CommandParts, controls: SessionControls) -> Reply:
    no_more(invocation.words, "/diff")
    records = [record for record in parts.transcript.changes.values() if record.change.is_by_agent]
    rows = [row for row in net_changes(records) if row.state != "undone"]
    partly = sum(row.state == "partly" for row in rows)
    with reported():
        changes = [row.change for row in rows]
        patch = await asyncio.to_thread(patch_of, changes, parts.contents, is_for_reading=True)
    text = patch.decode("utf-8", "replace")
    if not text:
        return Reply("The agent changed no file in this conversation, or all of it is undone.")
    lines = [f"{number_of(len(rows), 'file')} changed by the agent."]
    if partly:
        lines.append(f"Part of {number_of(partly, 'file')} is undone; the patch shows everything that was changed.")
    if len(text) > MAX_PATCH_CHARS:
        text = text[: text.rfind("\n", 0, MAX_PATCH_CHARS)]
        session_id = parts.transcript.session.session_id
        lines.append(f"This is only the beginning; `desktop-agent changes diff {session_id}` prints all of it.")
    return Reply(f"{' '.join(lines)}\n\n{fenced(text, 'diff')}")


def _redo_op(invocation: Invocation, parts: CommandParts) -> ops.RedoChanges | ops.RedoSteps:
    steps = (str(step.seq) for step in parts.transcript.changed.steps)
    match invocation.words:
        case ():
            return ops.RedoSteps()
        case ("all",):
            return ops.RedoSteps(is_all=True)
        case ("step", number) if number.isdecimal() and number in steps:
            return ops.RedoSteps(steps=(int(number),))
        case ("step", *_):
            raise UsageError("There is no such undo.", hint="`/redo steps` lists them with their numbers.")
        case _:
            return ops.RedoChanges(selection=_selection(invocation, "redo", parts))


def _steps(parts: CommandParts) -> Reply:
    transcript = parts.transcript
    steps = transcript.changed.steps
    if not steps:
        return Reply("There is no undo that can be redone.")
    lines = [f"{step.seq}: {code(describe_step(step, transcript.changes))}" for step in reversed(steps)]
    return Reply(f"`/redo` redoes the first of these, `/redo step NUMBER` another one.\n\n{bullets(lines)}")


def _reply_about(done: str, outcomes: Sequence[FileOutcome]) -> Reply:
    left = [outcome for outcome in outcomes if not outcome.is_done]
    count = len(outcomes) - len(left)
    sentences = [f"{done}: {number_of(count, 'file')}."]
    if left:
        sentences.append(f"Left as they are: {len(left)}.")
    listed = bullets(code(describe_outcome(outcome)) for outcome in outcomes)
    return Reply(f"{' '.join(sentences)}\n\n{listed}".rstrip(), is_error=bool(left) and not count)


def _selection(invocation: Invocation, direction: Direction, parts: CommandParts) -> ChangeSelection:
    transcript = parts.transcript
    candidates = transcript.changed.active() if direction == "undo" else transcript.changed.undone()
    kind, *more = invocation.words or ("turn",)
    if kind.isdecimal() and not more:
        kind, more = "turn", [kind]
    steps = " | step NUMBER | steps" if direction == "redo" else ""
    no_more(more[1:], f"/{direction} [turn [N] | call [ID] | file PATH | all{steps}]")
    value = more[0] if more else ""
    match kind:
        case "all":
            no_more(more, f"/{direction} all")
            return ChangeSelection()
        case "turn" if not value:
            return ChangeSelection(turn=_latest(candidates, direction).turn)
        case "turn" if value.isdecimal() and len(value) < 10:
            return ChangeSelection(turn=int(value))
        case "call":
            return ChangeSelection(call_id=value or _latest(candidates, direction).call_id)
        case "file" if value:
            return _of_file(_relative(value, parts.workspace), parts)
        case _:
            meant = code(" ".join([kind, *more]))
            last = "turn" if direction == "undo" else "undo"
            hint = f"Write `/{direction}` for the last {last}, or `turn N`, `call ID`, `file PATH` or `all` after it."
            raise UsageError(f"/{direction} does not know what {meant} is.", hint=hint)


def _latest(candidates: Sequence[ChangeRecord], direction: Direction) -> ChangeRecord:
    if not candidates:
        raise UsageError(f"There is nothing to {direction}.")
    return candidates[-1] if direction == "undo" else candidates[0]


def _of_file(path: str, parts: CommandParts) -> ChangeSelection:
    rows = net_changes(record for record in parts.transcript.changes.values() if record.change.is_by_agent)
    for row in rows:
        if path in (row.path, row.moved_from):
            if all(record.change.path == path for record in row.records):
                return ChangeSelection(path=path)
            return ChangeSelection(change_ids=row.change_ids)
    raise UsageError(f"The agent did not change {code(path)} in this conversation.", hint="`/diff` shows what it did.")


def _relative(path: str, workspace: Path) -> str:
    target = Path(path)
    if target.is_absolute() and target.is_relative_to(workspace):
        target = target.relative_to(workspace)
    return PurePosixPath(target.as_posix()).as_posix()


_FORMS: dict[str, ExportForm] = {"md": "md", "html": "html", "jsonl": "jsonl", "patch": "patch"}


async def export(invocation: Invocation, parts: CommandParts, controls: SessionControls) -> Reply:
    exporter = parts.services.exporter
    assert exporter is not None, "not offered without it"
    form, path = _request(invocation)
    name = path or f"{parts.transcript.session.session_id}.{form}"
    target = await asyncio.to_thread(_target, parts.workspace, name, is_named=bool(path))
    with reported():
        await exporter(parts.transcript.session.session_id, form, target)
    return Reply(f"Exported to {code(str(target))}.")


def _request(invocation: Invocation) -> tuple[ExportForm, str]:
    words = invocation.words
    if words and words[0].lower() in _FORMS:
        no_more(words[2:], "/export [md|html|jsonl|patch] [PATH]")
        return _FORMS[words[0].lower()], words[1] if len(words) > 1 else ""
    no_more(words[1:], "/export [md|html|jsonl|patch] [PATH]")
    path = words[0] if words else ""
    if not path:
        return "md", ""
    if (ending := Path(path).suffix.lower().removeprefix(".")) not in _FORMS:
        raise UsageError(
            "Which format should it be exported in?", hint="Write `/export md PATH`; there are md, html, jsonl, patch."
        )
    return _FORMS[ending], path


def _target(workspace: Path, name: str, *, is_named: bool) -> Path:
    """Return a path that does not exist yet. If `name` is taken, number it, unless the user chose it. Blocks."""
    target = workspace / os.path.expanduser(name)  # noqa: PTH111 - Path's raises for a user that does not exist
    candidates = [target] if is_named else [target, *(target.with_stem(f"{target.stem}-{n}") for n in range(2, 100))]
    for candidate in candidates:
        if not os.path.lexists(candidate):
            return candidate
    raise UsageError(f"{code(str(target))} already exists, so nothing was written.", hint="Name another file.")
