"""What the journals of all sessions say about the use of tools and models, by day.

Each journal is folded line by line, without decoding the whole line. The fold can be kept and continued, as a journal
only grows. What was copied from another session or imported from another program was not used here: it is not
counted, just as it is not counted as spending.
"""

import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Annotated, TypeVar

from msgspec import DecodeError, Meta, Struct, field
from msgspec.json import Decoder

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.store.cache_file import not_stopped
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.store.digest import JournalCache, Noted
from desktop_agent.core.store.journal.journal_scan import (
    JOURNAL_NAME,
    LineHead,
    ReportedModel,
    goes_on,
    head_of,
    journal_states,
    mark_at,
    moment_of,
    open_journal,
    state_of,
    whole_lines,
)
from desktop_agent.core.store.journal.records import Yielder
from desktop_agent.core.usage.report import DurationSum, ModelUse, SessionFigures, ToolUse

_Seconds = Annotated[float, Meta(ge=0, lt=1e9)]
_MAX_NAME = 200
"""Of a tool: the model makes up what it calls."""
_MAX_ANSWER_S = 24 * 3600
"""A longer time between two lines was no waiting for an answer: the machine slept."""


class JournalUsage(Struct, frozen=True, kw_only=True):
    """The fold of a journal, up to where it was read."""

    tools: tuple[ToolUse, ...] = ()
    models: tuple[ModelUse, ...] = ()
    running: dict[CallId, str] = field(default_factory=dict[CallId, str])
    """Calls that have not ended, with the names of their tools."""
    asked: tuple[str, str] = ("", "")
    """The provider and model of the turn."""
    waits_since: float | None = None
    """When the last answer was wanted, in seconds since 1970."""


class UsageFold:
    """The lines so far, after those of `known`."""

    def __init__(self, known: JournalUsage) -> None:
        self._tools = {(one.day, one.tool): _ToolSum(one) for one in known.tools}
        self._models = {(one.day, one.provider, one.model): _ModelSum(one) for one in known.models}
        self._running = dict(known.running)
        self._asked = ReportedModel(*known.asked)
        self._waits_since = known.waits_since

    def take(self, line: bytes) -> None:
        """Fold in a line; one that cannot be read is none."""
        if (head := head_of(line)) is None:
            return
        match head.kind:
            case b"turn_started":
                self._begin_turn(head, line)
            case b"message_done":
                self._answer(head, line)
            case b"tool_call_started":
                if (started := _read(line, _STARTED)) is not None:
                    self._running[started.call.id] = started.call.name[:_MAX_NAME]
            case b"tool_call_finished":
                self._end_call(head, line)
            case b"turn_ended":
                self._end_turn(head, line)
            case b"approval_resolved" | b"compacted" if self._waits_since is not None:
                self._waits_since = _seconds(head)
            case b"session_forked":
                self._forget()
            case b"notice" if (notice := _read(line, _NOTICE)) is not None and notice.code == "imported":
                self._forget()
            case _:
                pass

    def usage(self) -> JournalUsage:
        return JournalUsage(
            tools=tuple(one.use(*key) for key, one in sorted(self._tools.items())),
            models=tuple(one.use(*key) for key, one in sorted(self._models.items())),
            running=dict(self._running),
            asked=(self._asked.provider, self._asked.model),
            waits_since=self._waits_since,
        )

    def _begin_turn(self, head: LineHead, line: bytes) -> None:
        if (started := _read(line, _TURN_STARTED)) is not None:
            self._asked = started.model
        self._running.clear()
        self._waits_since = _seconds(head)

    def _answer(self, head: LineHead, line: bytes) -> None:
        now = _seconds(head)
        if (answer := _read(line, _MESSAGE)) is not None and self._waits_since is not None:
            waited_s = now - self._waits_since
            if 0 < waited_s <= _MAX_ANSWER_S:
                self._model(head, answer.model).answered.add(waited_s)
        self._waits_since = now

    def _end_call(self, head: LineHead, line: bytes) -> None:
        self._waits_since = _seconds(head)
        if (ended := _read(line, _FINISHED)) is None or (tool := self._running.pop(ended.call_id, None)) is None:
            return
        key = (_day(head), tool)
        if (one := self._tools.get(key)) is None:
            self._tools[key] = one = _ToolSum()
        one.calls += 1
        one.took.add(ended.duration_s)
        if ended.state == "failed":
            kind = ended.result.error_type or "recoverable"
            one.failed[kind] = one.failed.get(kind, 0) + 1

    def _end_turn(self, head: LineHead, line: bytes) -> None:
        self._waits_since = None
        self._running.clear()
        if (ended := _read(line, _TURN_ENDED)) is None:
            return
        one = self._model(head, self._asked)
        one.turns += 1
        one.ends[ended.reason] = one.ends.get(ended.reason, 0) + 1
        one.turn_s += ended.duration_s

    def _model(self, head: LineHead, model: ReportedModel) -> "_ModelSum":
        key = (_day(head), model.provider, model.model)
        if (one := self._models.get(key)) is None:
            self._models[key] = one = _ModelSum()
        return one

    def _forget(self) -> None:
        self._tools.clear()
        self._models.clear()
        self._running.clear()
        self._waits_since = None


class _ToolSum:
    __slots__ = ("calls", "failed", "took")

    def __init__(self, known: ToolUse | None = None) -> None:
        self.calls = known.calls if known is not None else 0
        self.failed = dict(known.failed) if known is not None else {}
        self.took = DurationSum(known.took if known is not None else None)

    def use(self, day: date, tool: str) -> ToolUse:
        return ToolUse(day=day, tool=tool, calls=self.calls, failed=dict(self.failed), took=self.took.durations())


class _ModelSum:
    __slots__ = ("answered", "ends", "turn_s", "turns")

    def __init__(self, known: ModelUse | None = None) -> None:
        self.answered = DurationSum(known.answered if known is not None else None)
        self.turns = known.turns if known is not None else 0
        self.ends = dict(known.ends) if known is not None else {}
        self.turn_s = known.turn_s if known is not None else 0.0

    def use(self, day: date, provider: str, model: str) -> ModelUse:
        return ModelUse(
            day=day,
            provider=provider,
            model=model,
            answered=self.answered.durations(),
            turns=self.turns,
            ends=dict(self.ends),
            turn_s=round(self.turn_s, 3),
        )


class _TurnStarted(Struct, frozen=True):
    model: ReportedModel


class _Message(Struct, frozen=True):
    model: ReportedModel


class _Call(Struct, frozen=True):
    id: CallId
    name: str


class _Started(Struct, frozen=True):
    call: _Call


class _Result(Struct, frozen=True):
    error_type: str | None = None


class _Finished(Struct, frozen=True):
    call_id: CallId
    state: str
    result: _Result
    duration_s: _Seconds


class _TurnEnded(Struct, frozen=True):
    reason: str
    duration_s: _Seconds


class _Notice(Struct, frozen=True):
    code: str


_TURN_STARTED, _MESSAGE, _STARTED = (
    Decoder(learned(_TurnStarted)),
    Decoder(learned(_Message)),
    Decoder(learned(_Started)),
)
_FINISHED, _TURN_ENDED, _NOTICE = Decoder(learned(_Finished)), Decoder(learned(_TurnEnded)), Decoder(learned(_Notice))
_Line = TypeVar("_Line", _TurnStarted, _Message, _Started, _Finished, _TurnEnded, _Notice)


def _read(line: bytes, decoder: Decoder[_Line]) -> _Line | None:
    try:
        return decoder.decode(line)
    except (DecodeError, RecursionError):
        return None


def _seconds(head: LineHead) -> float:
    return moment_of(head.at.decode()).timestamp()


def _day(head: LineHead) -> date:
    return moment_of(head.at.decode()).date()


_VERSION = 1
_BATCH = 100

Progress = Callable[[int, int], None]
"""Called with how many of how many journals are read."""


class UsageReader:
    """Reads the sessions of one data folder, where the list of them has looked. Blocks; for one thread at a time."""

    def __init__(self, catalog: Catalog, sessions: Path, cache: Path) -> None:
        """Touches no disk. `sessions` is the folder of journals, `cache` the one for what can be made again."""
        self._catalog = catalog
        self._sessions = sessions
        self._cache = JournalCache(cache / "usage.sqlite3", _VERSION, Decoder(learned(JournalUsage)))

    @classmethod
    def of(cls, paths: AppPaths, catalog: Catalog) -> "UsageReader":
        return cls(catalog, paths.sessions, paths.cache)

    def read(
        self, *, progress: Progress = lambda done, total: None, is_stopped: Callable[[], bool] = not_stopped
    ) -> tuple[SessionFigures, ...]:
        """Return what each session used, as far as it can be read; what was read until a stop, after one.

        What was spent is what the list of sessions says, so that it is the same everywhere. Other threads run now and
        then meanwhile. Raises `StorageError` when the folder of the sessions cannot be read.
        """
        states = journal_states(self._sessions)
        known = self._cache.all()
        stale = [name for name, state in states.items() if name not in known or known[name].mark.state != state]
        unsaved: dict[str, Noted[JournalUsage]] = {}
        for done, name in enumerate(stale):
            progress(done, len(stale))
            if is_stopped():
                break
            if (noted := read_usage(self._sessions / name / JOURNAL_NAME, known.get(name), is_stopped)) is not None:
                known[name] = unsaved[name] = noted
            if len(unsaved) == _BATCH:
                self._cache.keep(unsaved)
                unsaved = {}
        self._cache.keep(unsaved, known.keys() - states.keys())
        return self._joined(known)

    def _joined(self, known: dict[str, Noted[JournalUsage]]) -> tuple[SessionFigures, ...]:
        nothing = JournalUsage()
        found: list[SessionFigures] = []
        for summary in self._catalog.summaries():
            usage = known[summary.id].known if summary.id in known else nothing
            found.append(
                SessionFigures(
                    workspace=summary.workspace, spending=summary.spending, tools=usage.tools, models=usage.models
                )
            )
        return tuple(found)


def read_usage(
    path: Path, known: Noted[JournalUsage] | None, is_stopped: Callable[[], bool] = not_stopped
) -> Noted[JournalUsage] | None:
    """Fold a journal, and only what is new since `known` where that still holds.

    None when it cannot be read, or when stopped before its end.
    """
    yield_gil = Yielder()
    try:
        with open_journal(path) as file:
            state = state_of(os.fstat(file.fileno()))
            is_known = known is not None and goes_on(file, known.mark)
            place = known.mark.read_bytes if known is not None and is_known else 0
            fold = UsageFold(known.known if known is not None and is_known else JournalUsage())
            for _, end, line in whole_lines(file, place):
                if is_stopped():
                    return None
                fold.take(line)
                place = end
                yield_gil()
            return Noted(mark_at(file, state, place), fold.usage())
    except OSError:
        return None
