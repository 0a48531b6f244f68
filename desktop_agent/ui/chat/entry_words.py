"""The transcript's wording: verbs, totals and outcomes."""

import json
from collections.abc import Callable, Sequence
from typing import cast

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.plain_text import duration_text, money, named, shortened
from desktop_agent.core.protocol.events import (
    ChangesCommitted,
    CommitUndone,
    HookRan,
    Rewound,
    SessionForked,
    TurnEnded,
    TurnEndReason,
)
from desktop_agent.core.protocol.model import (
    Aborted,
    Allowed,
    Denied,
    FileOutcome,
    HookDecision,
    HookState,
    JsonObject,
    RewindScope,
    TodoItem,
    ToolState,
)
from desktop_agent.core.transcript import (
    CUT_OFF_KEY,
    CompactionEntry,
    HookEntry,
    PageEntry,
    ToolEntry,
    UndoEntry,
    first_line,
    todos_of,
)
from desktop_agent.ui.translation import core_words, plural
from desktop_agent.ui.wording import visible

MINUS = "−"
"""The sign in front of removed lines: as wide as the plus, unlike a hyphen."""


def say(text: str) -> str:
    return QCoreApplication.translate("Transcript", text)


_VERBS = {
    "apply_patch": "Edit", "line_edit": "Edit", "template_block": "Edit", "rename_file": "Rename",
    "glob_file_search": "Search", "codebase_search": "Search", "grep": "Search", "view_image": "Look at",
    "request_approval": "Ask", "web_fetch": "Read", "web_search": "Search the web", "todo_write": "Plan",
    "write_plan": "Plan",
}  # fmt: skip
"""Verbs for tools whose names begin with no word of `_PREFIXES`, or with a misleading one."""

_PREFIXES = {
    "read": "Read", "list": "List", "search": "Search", "find": "Search", "edit": "Edit", "create": "Create",
    "write": "Create", "delete": "Delete", "remove": "Delete", "run": "Run", "shell": "Run", "bash": "Run",
    "execute": "Run", "move": "Rename", "fetch": "Read", "switch": "Plan",
}  # fmt: skip
RUN = "Run"
_LONGEST_WORD = 40
_NOTED_FILES = 3
_SHORT_ID = 8


def _verb(tool: str) -> str:
    return say(_VERBS.get(tool) or _PREFIXES.get(_first_word(tool)) or tool)


def _first_word(tool: str) -> str:
    return tool.lower().partition("_")[0]


def headline(entry: ToolEntry) -> tuple[str, str]:
    """Return the verb and the object of a call's line: `Read`, `src/app.py`. For a plan, the object is empty."""
    if entry.result is not None and "todos" in entry.result.metadata:
        return _verb(entry.call.name), ""
    if is_task(entry):
        role, _, description = entry.title.partition(": ")
        return shortened(named(role), _LONGEST_WORD), description
    return _verb(entry.call.name), entry.edited_command or entry.title


def is_task(entry: ToolEntry) -> bool:
    """Whether a sub-agent carries out the call."""
    return entry.call.name == "task"


def used_by_subagent(entry: ToolEntry) -> str:
    """Return what a sub-agent has used so far: `claude-opus-5 · 12 400 tokens · $0.04`."""
    used, subagent = entry.usage, entry.subagent
    spent = money(used.cost_usd, is_least=used.is_cost_partial) if used.cost_usd is not None else ""
    tokens = counted(used.context_tokens, "%n token", "%n tokens") if used.context_tokens else ""
    return " · ".join(filter(None, (visible(subagent.model.shown) if subagent is not None else "", tokens, spent)))


def is_command(tool: str) -> bool:
    return _PREFIXES.get(_first_word(tool)) == RUN


def counted(number: int, one: str, many: str) -> str:
    """The patterns look like `%n file` and `%n files`."""
    return plural("Transcript", number, one, many)


def cut_lines(lines: int, characters: int) -> str:
    """Return how much of long lines is cut: `1 line continues for another 6 044 characters`. Empty if none is cut."""
    if not lines:
        return ""
    length = counted(characters, "%n character", "%n characters")
    return counted(lines, "%n line continues for another {0}", "%n lines continue for another {0}").format(length)


def state(entry: ToolEntry) -> str:
    if entry.is_waiting:
        return say("waits for you")
    match entry.decision:
        case Denied():
            return say("denied")
        case Aborted():
            return say("not run")
        case _:
            return say(_STATES[entry.state])


_STATES: dict[ToolState, str] = {"started": "running", "completed": "done", "failed": "failed"}


def summary(entry: ToolEntry) -> str:
    """Return the outcome of a finished call: `84 lines · 6 ms`."""
    metadata = entry.result.metadata if entry.result is not None else {}
    if "todos" in metadata:
        return done_of_all(_steps(entry))
    parts = [say("at the provider") if metadata.get("at_provider") is True else _confinement(metadata)]
    if len(entry.changes) > 1:
        parts.append(counted(len(entry.changes), "%n file", "%n files"))
    elif not entry.changes:
        parts.append(_quantity(metadata))
    if entry.duration_s is not None and (not entry.changes or is_task(entry)):
        parts.append(duration_text(entry.duration_s))
    return " · ".join(part for part in parts if part)


def running(entry: ToolEntry, seconds: float) -> str:
    """Return the state of a running call and its duration, without the time it waited for an answer."""
    how = entry.approval.confinement.partition(":")[0] if entry.approval is not None else ""
    return " · ".join(filter(None, (how, duration_text(seconds) if seconds >= 0 else "")))


def _quantity(metadata: JsonObject) -> str:
    listed = metadata.get("matches")
    # Older journals have a number. A list is shown on the card, and may differ from the count.
    matches = _number(metadata.get("total_matches", None if isinstance(listed, list) else listed))
    files = _number(metadata.get("files"))
    if matches == 0:
        return say("no matches")
    if matches is not None and files is not None:
        found = _COUNTS["matches"](matches), _COUNTS["files"](files)
        return say("{matches} in {files}").format(matches=found[0], files=found[1])
    for key, words in _COUNTS.items():
        number = _number(metadata.get(key))
        if number is not None:
            return words(number)
    return ""


def _matches(count: int) -> str:
    return counted(count, "%n match", "%n matches")


_COUNTS: dict[str, Callable[[int], str]] = {
    "total_matches": _matches,
    "files": lambda count: counted(count, "%n file", "%n files"),
    "lines": lambda count: counted(count, "%n line", "%n lines"),
    "entries": lambda count: counted(count, "%n entry", "%n entries"),
    "results": lambda count: counted(count, "%n result", "%n results"),
    "matches": _matches,
}
"""The counts in results, the most informative first."""


def _confinement(metadata: JsonObject) -> str:
    if metadata.get("escalated") is True:
        return say("outside the sandbox")
    confinement = metadata.get("confinement")
    return core_words(confinement[:_LONGEST_WORD]) if isinstance(confinement, str) else ""


def badge(entry: ToolEntry) -> str:
    """Return how a command ended, unless it succeeded: `exit 1`, `timed out`, `took too much`."""
    metadata = entry.result.metadata if entry.result is not None else {}
    if metadata.get("timed_out") is True:
        return say("timed out")
    if metadata.get(CUT_OFF_KEY) is True and metadata.get("skipped") is not True:
        return say("cut off")
    if metadata.get("excess"):
        return say("exceeded a limit")
    exit_code = _number(metadata.get("exit_code"))
    return say("exit {code}").format(code=exit_code) if exit_code else ""


def asked(entry: ToolEntry) -> str:
    request, decision = entry.approval, entry.decision
    if request is None or decision is None:
        return ""
    match decision:
        case Allowed(rules=rules) if rules:
            patterns = ", ".join(rule.pattern for rule in rules)
            answer = say("allowed from now on: {patterns}").format(patterns=patterns)
        case Allowed(scope=scope):
            answer = say(_SCOPES[scope])
        case Denied():
            answer = say("denied")
        case Aborted():
            answer = say("not answered")
    reason = core_words(request.reason or request.title).replace("`", "").rstrip(".")
    return say("Asked: {reason} · {answer}").format(reason=reason, answer=answer)


_SCOPES = {
    "once": "allowed once",
    "session": "allowed in this session",
    "project": "allowed in this folder",
    "always": "always allowed",
}

_TODO_STATES = {"pending": "to do", "in_progress": "in progress", "completed": "done", "cancelled": "cancelled"}


def doing_of_subagent(entry: ToolEntry) -> str:
    """What the sub-agent of this call does at this moment."""
    return core_words(entry.progress) or (say("Thinks") if entry.subagent is not None else say("Starts"))


def done_of_all(steps: Sequence[TodoItem]) -> str:
    wanted = [step for step in steps if step.status != "cancelled"]
    done = sum(step.status == "completed" for step in wanted)
    return say("{done} of {all}").format(done=done, all=len(wanted)) if wanted else ""


def spoken_step(step: TodoItem) -> str:
    return f"{say(_TODO_STATES[step.status])}: {step.content}"


def spoken_steps(entry: ToolEntry) -> str:
    return " ".join(f"{spoken_step(step)}." for step in _steps(entry))


def _steps(entry: ToolEntry) -> tuple[TodoItem, ...]:
    return (todos_of(entry.result) if entry.result is not None else None) or ()


_PICTURE_PROBLEMS = {
    "no picture": "This picture cannot be shown here.",
    "damaged": "This picture is damaged and cannot be shown.",
    "too large": "This picture is too large to be shown.",
}


def picture_problem(problem: str) -> str:
    return say(_PICTURE_PROBLEMS[problem])


def byte_count(size: int) -> str:
    if size < 1000:
        return counted(size, "%n byte", "%n bytes")
    return f"{size / 1000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def _number(value: object) -> int | None:
    if isinstance(value, list):
        return len(cast("list[object]", value))
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def notes(entry: ToolEntry) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    match entry.decision:
        case Allowed(edited_command=allowed):
            command = allowed if entry.edited_command is None else entry.edited_command
            if command is not None:
                found.append((say("Modified by you: {command}").format(command=visible(command)), "muted"))
        case Denied(message=message):
            text = (
                say("You denied it: {message}").format(message=visible(message)) if message else say("You denied it.")
            )
            found.append((text, "muted"))
        case Aborted(reason=reason):
            found.append((say("Not run: {reason}").format(reason=visible(reason)), "muted"))
        case _:
            pass
    if entry.is_recovered:
        copied, all_of_it = (
            say("Recovered: everything that was copied is restored."),
            say("Recovered: everything that the command destroyed is restored."),
        )
        found.append((copied if entry.uncaptured else all_of_it, "muted"))
    kept_back = entry.result.metadata.get("kept_back") if entry.result is not None else None
    if isinstance(kept_back, list) and kept_back:  # inputs that the command did not get and seems to have missed
        names = ", ".join(visible(str(name)) for name in cast("list[object]", kept_back))
        text = say("Withheld from commands: {names}. To pass them on, add them to the setting “Variables passed on”.")
        found.append((text.format(names=names), "muted"))
    for item in entry.uncaptured:
        text = say("⚠ {path} cannot be undone: {reason}") if item.path != "." else "⚠ {reason}"  # "." is the folder
        found.append((text.format(path=item.path, reason=core_words(item.reason)), "warning_text"))
    return found


def recovery(entry: ToolEntry) -> str:
    is_possible = entry.is_recoverable and not entry.is_recovered and entry.state != "started"
    return say("Restores {things}").format(things=_lost(entry)) if is_possible else ""


def _lost(entry: ToolEntry | UndoEntry) -> str:
    names = [change.name for change in entry.refs if change.is_loss]
    found: list[str] = []
    files = len(entry.changes) if isinstance(entry, ToolEntry) else sum(outcome.is_done for outcome in entry.outcomes)
    if files := files + sum("/.git/" not in file.path for file in entry.outside):
        found.append(_COUNTS["files"](files))
    if branches := [name.removeprefix("refs/heads/") for name in names if name.startswith("refs/heads/")]:
        found.append(counted(len(branches), "branch {0}", "%n branches").format(branches[0]))
    if tags := [name.removeprefix("refs/tags/") for name in names if name.startswith("refs/tags/")]:
        found.append(counted(len(tags), "tag {0}", "%n tags").format(tags[0]))
    if stashed := sum(name.startswith("stash:") for name in names):
        found.append(counted(stashed, "%n stash entry", "%n stash entries"))
    if not found and names:
        found.append(say("the checked-out commit"))
    if any("/.git/" in file.path and not file.path.endswith("/index") for file in entry.outside):
        found.append(say("git's own files"))
    if not found:
        return say("the staged changes")
    last = found.pop()
    return say("{things} and {last}").format(things=", ".join(found), last=last) if found else last


_TURN_ENDS: dict[TurnEndReason, str] = {
    "completed": "Done after {time}",
    "max_turns": "Reached the limit of {requests}. Send a message to continue.",
    "tool_error": "Stopped because a tool failed.",
    "fatal_tool_error": "Stopped because a tool failed beyond repair.",
    "approval_required": "Stopped: an approval was needed and no user could give it.",
    "provider_error": "Stopped because the model could not be asked.",
    "storage_error": "Stopped because the session could not be saved.",
    "interrupted": "Stopped by you after {time}",
    "limit": "Stopped because a limit was reached.",
    "refused": "The model declined to answer.",
    "workspace_error": "Stopped because the folder cannot be used.",
    "internal_error": "Stopped by a fault in the application.",
    "hook": "Stopped by a hook.",
}

_UNTIMED: dict[TurnEndReason, str] = {"completed": "Done", "interrupted": "Interrupted"}


_HOOK_WORDS: dict[HookDecision | HookState, str] = {
    "allow": "allowed it",
    "ask": "wants you to decide",
    "deny": "refused it",
    "block": "held it back",
    "stop": "stopped the turn",
    "completed": "ran",
    "failed": "failed",
    "timed_out": "took too long",
    "flooded": "printed too much",
    "not_started": "could not be started",
    "changed": "did not run: it has changed",
    "stopped": "was stopped",
}


def hook_word(run: HookRan) -> str:
    return say(_HOOK_WORDS[run.decision or run.state])


def hooks(entry: HookEntry) -> str:
    ran = counted(len(entry.runs), "%n hook ran", "%n hooks ran")
    if (run := entry.telling) is None:
        return f"{ran} · {', '.join(dict.fromkeys(one.moment for one in entry.runs))}"
    said = " · ".join(
        filter(None, (run.moment, hook_word(run), visible(core_words(first_line(run.reason or run.message)))))
    )
    return said if len(entry.runs) == 1 else f"{ran} · {said}"


def hook_details(entry: HookEntry) -> str:
    """Return each run with its command, where it is defined, how it ended, and what it said and printed."""
    parts: list[str] = []
    for run in entry.runs:
        code = "" if run.exit_code is None else say("exit code {code}").format(code=run.exit_code)
        facts = " · ".join(filter(None, (run.moment, hook_word(run), code, duration_text(run.duration_s))))
        changed = "" if run.changed is None else json.dumps(run.changed, ensure_ascii=False)
        texts = dict.fromkeys(
            (f"$ {run.command}", run.path, run.message, core_words(run.reason), changed, run.context, run.output)
        )
        parts.append("\n".join(filter(None, (facts, *map(visible, texts)))))
    return "\n\n".join(parts)


LineEntry = UndoEntry | ChangesCommitted | CommitUndone | Rewound | CompactionEntry | SessionForked | TurnEnded


def sentence(entry: LineEntry) -> str:
    match entry:
        case UndoEntry():
            return _undo(entry)
        case ChangesCommitted():
            return _committed(entry)
        case CommitUndone(commit=commit):
            return say("Undid the commit {commit}. Its changes are uncommitted again.").format(commit=short_id(commit))
        case Rewound():
            return say(_REWINDS[entry.scope]).format(turn=entry.turn)
        case CompactionEntry():
            return _compaction(entry)
        case SessionForked(before_turn=None):
            return say("A copy of “{title}” up to here").format(title=entry.title)
        case SessionForked():
            return say("A copy of “{title}” before turn {turn}").format(title=entry.title, turn=entry.before_turn)
        case TurnEnded():
            time = duration_text(entry.duration_s)
            if entry.is_cut_off and entry.duration_s:
                return say("Cut off: the application ended while the agent worked, after at least {time}").format(
                    time=time
                )
            if entry.is_cut_off:
                return say("Cut off: the application ended while the agent worked")
            if not entry.duration_s and entry.reason in _UNTIMED:
                return say(_UNTIMED[entry.reason])
            requests = counted(entry.requests, "%n model request", "%n model requests")
            return say(_TURN_ENDS[entry.reason]).format(time=time, requests=requests)


def _undo(entry: UndoEntry) -> str:
    done = [outcome for outcome in entry.outcomes if outcome.is_done]
    nothing, some = {
        "undo": (say("Nothing was undone"), say("Undid {files}")),
        "redo": (say("Nothing was redone"), say("Redid {files}")),
        "bring back": (say("Nothing was brought back"), say("Brought back {files}")),
    }["bring back" if entry.brings_back else entry.purpose]
    if entry.refs or entry.outside:
        what = say("Restored {things}").format(things=_lost(entry))
    elif not done:
        what = nothing
    else:
        files = _COUNTS["files"](len(done))
        if len(done) == 1 and done[0].hunks:
            changes = counted(len(done[0].hunks), "%n change", "%n changes")
            files = say("{changes} in {path}").format(changes=changes, path=visible(done[0].path))
        what = some.format(files=files)
    turns = {change.partition(".")[0] for outcome in entry.outcomes for change in outcome.change_ids}
    if done and len(turns) == 1 and turns != {"0"}:  # before the first turn
        what = say("{what} of turn {turn}").format(what=what, turn=turns.pop())
    parts = [what]
    if left_alone := [outcome for outcome in entry.outcomes if outcome.state == "conflict"]:
        parts.append(_left_alone(left_alone))
    if failed := sum(outcome.state == "failed" for outcome in entry.outcomes):
        parts.append(say("{count} could not be written").format(count=failed))
    noted = [
        f"{visible(outcome.path)}: {core_words(outcome.reason).removesuffix('.')}" for outcome in done if outcome.reason
    ]
    parts += noted[:_NOTED_FILES]
    if len(noted) > _NOTED_FILES:
        parts.append(say("{count} more only partly restored").format(count=len(noted) - _NOTED_FILES))
    return " · ".join(parts)


def short_id(commit: str) -> str:
    return commit[:_SHORT_ID]


def branch_name(branch: str) -> str:
    return visible(branch.removeprefix("refs/heads/")) if branch else say("no branch")


def _committed(event: ChangesCommitted) -> str:
    words = say("Committed {commit} on {branch}: {subject}")
    files = ", ".join(map(visible, event.paths[:_NOTED_FILES]))
    count = _COUNTS["files"](len(event.paths))
    parts = [
        words.format(commit=short_id(event.commit), branch=branch_name(event.branch), subject=visible(event.subject)),
        f"{count} ({files}{'…' if len(event.paths) > _NOTED_FILES else ''})",
    ]
    if event.left_out:
        parts.append(counted(len(event.left_out), "%n change left out", "%n changes left out"))
    if event.changed_by_hooks:
        hooked = ", ".join(map(visible, event.changed_by_hooks[:_NOTED_FILES]))
        parts.append(say("Changed by hooks: {files}").format(files=hooked))
    return " · ".join(parts)


def _left_alone(outcomes: Sequence[FileOutcome]) -> str:
    makers = {maker for outcome in outcomes for maker in (outcome.clash.yours_by if outcome.clash else ())}
    has_makers = all(outcome.clash is not None and outcome.clash.yours_by for outcome in outcomes)
    maker = makers.pop() if has_makers and len(makers) == 1 else None
    if maker is not None and maker.by == "person":
        return say("{count} left alone because you changed it").format(count=len(outcomes))
    if maker is not None and maker.by == "agent":
        text = say("{count} left alone because turn {turn} changed it")
        return text.format(count=len(outcomes), turn=maker.turn)
    return say("{count} left alone").format(count=len(outcomes))


_REWINDS: dict[RewindScope, str] = {
    "conversation": "Went back to before turn {turn}: the agent no longer sees what came after. Files stayed.",
    "files": "Files went back to before turn {turn}. The conversation stayed.",
    "both": "Went back to before turn {turn}, conversation and files.",
}


def _compaction(entry: CompactionEntry) -> str:
    if entry.is_undone:
        return say("The summary was undone: the agent sees the whole conversation again.")
    event = entry.event
    before, after = f"{event.tokens_before:,}", f"{event.tokens_after:,}"
    if not event.through_turn:
        one = "Shortened %n older result for the agent: about {before} tokens became {after}"
        many = "Shortened %n older results for the agent: about {before} tokens became {after}"
        return counted(len(event.shortened), one, many).format(before=before, after=after)
    pattern = say("Summarised for the agent up to turn {turn}: about {before} tokens became {after}")
    return pattern.format(turn=event.through_turn, before=before, after=after)


def page(entry: PageEntry) -> str:
    """Return the text that a copied selection has instead of messages that are not loaded."""
    one, many = "[%n earlier message that is not loaded]", "[%n earlier messages that are not loaded]"
    return counted(entry.entries, one, many)
