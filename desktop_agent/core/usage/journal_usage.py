"""Usage of tools and models by day, from the journals of all sessions.

A journal only grows, so its fold is stored and continued. Copied and imported turns are not counted.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, field
from msgspec.json import Decoder

from desktop_agent.core.base.ids import CallId, SessionId
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.store.cache_file import not_stopped
from desktop_agent.core.store.digest import JournalCache, Noted, fold_journal
from desktop_agent.core.store.journal.journal_scan import (
    JOURNAL_NAME,
    LineHead,
    ReportedModel,
    decoded,
    head_of,
    journal_states,
    moment_of,
)
from desktop_agent.core.store.journal.records import Yielder
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.usage.report import ModelUse, SessionFigures, ToolUse

_Seconds = Annotated[float, Meta(ge=0, lt=1e9)]
_MAX_NAME = 200
"""How many characters of a tool's name are kept: the model can make up names."""
_MAX_ANSWER_S = 24 * 3600
"""A longer time between two lines is not counted, because the machine was asleep."""


class JournalUsage(Struct, frozen=True, kw_only=True):
    """The counts of a journal up to where it was read, and the state to continue."""

    tools: tuple[ToolUse, ...] = ()
    models: tuple[ModelUse, ...] = ()
    running: dict[CallId, str] = field(default_factory=dict[CallId, str])
    """Calls that have not ended, with the names of their tools."""
    asked: tuple[str, str] = ("", "")
    waits_since: float | None = None
    """When the wait for the present answer began, in seconds since 1970."""


class _Call(Struct, frozen=True):
    id: CallId
    name: str


class _Result(Struct, frozen=True):
    error_type: str | None = None


class _Line(Struct, frozen=True):
    model: ReportedModel | None = None
    call: _Call | None = None
    call_id: CallId = ""
    state: str = ""
    result: _Result = _Result()
    reason: str = ""
    duration_s: _Seconds = 0.0
    code: str = ""


_LINE = Decoder(learned(_Line))


class UsageFold:
    def __init__(self, known: JournalUsage | None) -> None:
        known = known or JournalUsage()
        self._tools = {(one.day, one.tool): deepcopy(one) for one in known.tools}
        self._models = {(one.day, one.provider, one.model): deepcopy(one) for one in known.models}
        self._running = dict(known.running)
        self._asked = ReportedModel(*known.asked)
        self._waits_since = known.waits_since

    def take(self, line: bytes) -> None:
        """Count a line. An unreadable line is skipped."""
        if (head := head_of(line)) is None:
            return
        match head.kind:
            case b"turn_started":
                if (started := decoded(line, _LINE)) is not None:
                    self._asked = started.model or self._asked
                self._running.clear()
                self._waits_since = _seconds(head)
            case b"message_done":
                self._answer(head, decoded(line, _LINE))
            case b"tool_call_started":
                if (started := decoded(line, _LINE)) is not None and started.call is not None:
                    self._running[started.call.id] = started.call.name[:_MAX_NAME]
            case b"tool_call_finished":
                self._end_call(head, decoded(line, _LINE))
            case b"turn_ended":
                self._end_turn(head, decoded(line, _LINE))
            case b"approval_resolved" | b"compacted" if self._waits_since is not None:
                self._waits_since = _seconds(head)
            case b"session_forked":
                self._forget()
            case b"notice" if (notice := decoded(line, _LINE)) is not None and notice.code == "imported":
                self._forget()
            case _:
                pass

    def result(self, size_bytes: int = 0) -> JournalUsage:
        return JournalUsage(
            tools=tuple(self._tools[key] for key in sorted(self._tools)),
            models=tuple(self._models[key] for key in sorted(self._models)),
            running=dict(self._running),
            asked=(self._asked.provider, self._asked.model),
            waits_since=self._waits_since,
        )

    def _answer(self, head: LineHead, answer: _Line | None) -> None:
        now = _seconds(head)
        if answer is not None and answer.model is not None and self._waits_since is not None:
            waited_s = now - self._waits_since
            if 0 < waited_s <= _MAX_ANSWER_S:
                self._model(head, answer.model).answered.add(waited_s)
        self._waits_since = now

    def _end_call(self, head: LineHead, ended: _Line | None) -> None:
        self._waits_since = _seconds(head)
        if ended is None or (tool := self._running.pop(ended.call_id, None)) is None:
            return
        key = (_day(head), tool)
        if (one := self._tools.get(key)) is None:
            self._tools[key] = one = ToolUse(day=key[0], tool=tool)
        one.calls += 1
        one.took.add(ended.duration_s)
        if ended.state == "failed":
            kind = ended.result.error_type or "recoverable"
            one.failed[kind] = one.failed.get(kind, 0) + 1

    def _end_turn(self, head: LineHead, ended: _Line | None) -> None:
        self._waits_since = None
        self._running.clear()
        if ended is None or not ended.reason:
            return
        one = self._model(head, self._asked)
        one.turns += 1
        one.ends[ended.reason] = one.ends.get(ended.reason, 0) + 1
        one.turn_s = round(one.turn_s + ended.duration_s, 6)

    def _model(self, head: LineHead, model: ReportedModel) -> ModelUse:
        key = (_day(head), model.provider, model.model)
        if (one := self._models.get(key)) is None:
            self._models[key] = one = ModelUse(day=key[0], provider=key[1], model=key[2])
        return one

    def _forget(self) -> None:
        self._tools.clear()
        self._models.clear()
        self._running.clear()
        self._waits_since = None


def _seconds(head: LineHead) -> float:
    return moment_of(head.at.decode()).timestamp()


def _day(head: LineHead) -> date:
    return moment_of(head.at.decode()).date()


_VERSION = 1

Progress = Callable[[int, int], None]
"""Called with the number of journals read so far, and their total."""


class UsageReader:
    """Reads the usage of the sessions in a catalog. Blocks; for one thread at a time."""

    def __init__(self, catalog: SessionCatalog, sessions: Path, cache: Path) -> None:
        """Does not access the disk. `sessions` is the folder of journals; `cache` is for data that can be rebuilt."""
        self._catalog = catalog
        self._sessions = sessions
        self._cache = JournalCache(cache / "usage.sqlite3", _VERSION, Decoder(learned(JournalUsage)))

    @classmethod
    def of(cls, paths: AppPaths, catalog: SessionCatalog) -> "UsageReader":
        return cls(catalog, paths.sessions, paths.cache)

    def read(
        self, *, progress: Progress = lambda done, total: None, is_stopped: Callable[[], bool] = not_stopped
    ) -> tuple[SessionFigures, ...]:
        """Return the usage of each session that was read before a stop. Raises `StorageError`."""
        states = journal_states(self._sessions)
        known = self._cache.all()
        stale = [name for name, state in states.items() if name not in known or known[name].mark.state != state]

        def wanted() -> Iterator[SessionId]:
            for done, name in enumerate(stale):
                progress(done, len(stale))
                if is_stopped():
                    return
                yield name

        def read(name: SessionId, noted: Noted[JournalUsage] | None) -> Noted[JournalUsage] | None:
            return read_usage(self._sessions / name / JOURNAL_NAME, noted, is_stopped)

        known |= self._cache.look_at(wanted(), known, read)
        self._cache.keep({}, known.keys() - states.keys())
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
    """Fold a journal, from `known` on if that is still valid. `None` if it cannot be read, or when stopped."""
    yield_gil = Yielder()

    def is_over() -> bool:
        yield_gil()
        return is_stopped()

    return fold_journal(path, known, UsageFold, is_over)
