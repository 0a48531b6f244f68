"""Questions to the user that wait for an answer, and the rules that answers make (docs/guide/approvals.md).

`rules.toml` is checked before every decision. A broken entry allows nothing. If it may forbid something, earlier rules
stay; at the start, nothing runs until the user decides.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import cast, get_args

from msgspec import Struct
from msgspec.structs import asdict, replace

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import CallId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import Aborted, ApprovalRequest, Decision, Rule, RuleEffect, RuleKind, RuleScope
from desktop_agent.core.settings.loading import FileProblem, FoundTable
from desktop_agent.core.settings.table_file import (
    TableFile,
    TableList,
    choice_in,
    flag_in,
    table_of,
    text_in,
    texts_in,
    time_in,
)
from desktop_agent.core.system.private_files import FileStamp, is_unchanged, stamp_of


class HeldQuestion(Struct):
    """A question from an earlier process as recorded in the journal, with its answer once there is one."""

    request: ApprovalRequest
    decision: Decision | None = None


class Approvals:
    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._pending: dict[CallId, asyncio.Future[Decision]] = {}
        self._held: dict[CallId, HeldQuestion] = {}

    async def ask(
        self,
        turn: int,
        request: ApprovalRequest,
        confirm: Callable[[Decision], Awaitable[Decision]] | None = None,
        *,
        is_recorded: bool = False,
    ) -> Decision:
        """Record `request` if necessary, wait for its answer, and record and return the result of `confirm`.

        The question is registered before it is recorded, so that no answer can come too early. A cancelled wait is
        recorded as `Aborted`.
        """
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._pending[request.call_id] = answer
        decision: Decision = Aborted(reason="The turn was stopped before an answer came.")
        try:
            if not is_recorded:
                await self._log.record(ev.ApprovalRequested(turn=turn, request=request))
            given = await answer
            decision = given if confirm is None else await confirm(given)
            return decision
        finally:
            self._pending.pop(request.call_id, None)
            await self.conclude(turn, request.call_id, decision)

    async def conclude(self, turn: int, call_id: CallId, decision: Decision) -> None:
        self.let_go(call_id)
        await self._log.record(ev.ApprovalResolved(turn=turn, call_id=call_id, decision=decision))

    def answer(self, call_id: CallId, decision: Decision) -> bool:
        """Answer a pending or held question. Returns whether one was waiting; late and double answers do nothing."""
        held = self._held.get(call_id)
        if held is not None and held.decision is None:
            held.decision = decision
            return True
        future = self._pending.get(call_id)
        if future is None or future.done():
            return False
        future.set_result(decision)
        return True

    @property
    def are_open(self) -> bool:
        """Whether questions wait, and none of them has an answer that is still to be carried out."""
        is_given = [answer.done() for answer in self._pending.values()]
        is_given += [held.decision is not None for held in self._held.values()]
        return bool(is_given) and not any(is_given)

    def hold(self, requests: Iterable[ApprovalRequest]) -> None:
        """Take over questions of an earlier process: they can be answered before their calls run again."""
        for request in requests:
            self._held.setdefault(request.call_id, HeldQuestion(request))

    def held(self, call_id: CallId) -> HeldQuestion | None:
        """Return the held question about a call. It can be answered until `let_go`."""
        return self._held.get(call_id)

    def let_go(self, call_id: CallId) -> None:
        """Stop accepting answers to a held question."""
        self._held.pop(call_id, None)

    def abort_all(self, reason: str) -> None:
        """Abort the open questions. Held ones stay."""
        for call_id in list(self._pending):
            self.answer(call_id, Aborted(reason=reason))


RULES_NAME = "rules.toml"


class LoadedRules(Struct, frozen=True):
    rules: tuple[Rule, ...] = ()
    problems: tuple[FileProblem, ...] = ()
    """A problem with a rule has the rule's number in the file as its key: `rule 1`."""

    @property
    def is_forbidding_broken(self) -> bool:
        """Whether an unreadable rule could be one that forbids or asks."""
        return any(problem.is_fault for problem in self.problems)


class RulesFile:
    """The rules of scope `project` and `always`. Several processes may change it, so each change reads it first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = TableFile(path, "rule", "rules")

    def load(self) -> LoadedRules:
        """Return the valid rules, and a problem for each other one. Blocks; never raises."""
        return LoadedRules(*self._file.load(_rule, lambda rule: rule.id, _problem_of))

    def add(self, *rules: Rule) -> None:
        """Append rules, replacing those with the same id. Blocks. Raises `StorageError` and `UsageError`."""
        lasting = {rule.id: rule for rule in rules if rule.scope != "session"}

        def put(tables: TableList) -> None:
            tables.drop(lambda table: table.get("id") in tuple(lasting))
            for rule in lasting.values():
                tables.append(_table(rule))

        if lasting:
            self._file.change(put)

    def remove(self, rule_id: str) -> bool:
        """Remove a rule; return whether it existed. Blocks. Raises like `add`."""
        return self._file.remove(lambda table: table.get("id") == rule_id)


def _problem_of(entry: FoundTable, why: str) -> FileProblem:
    value = entry.value
    effect = cast("dict[str, object]", value).get("effect") if isinstance(value, dict) else None
    return entry.problem(f"{why}; it does not count", is_fault=effect != "allow")


def _table(rule: Rule) -> dict[str, object]:
    values = asdict(rule) | {"details": list(rule.details)}
    return {key: value for key, value in values.items() if value}  # what is left out is what a rule has anyway


def _rule(entry: object, known: Collection[Hashable]) -> Rule:
    values = table_of(entry, Rule.__struct_fields__)
    rule = Rule(
        id=text_in(values, "id", is_needed=True),
        effect=cast("RuleEffect", choice_in(values, "effect", get_args(RuleEffect))),
        kind=cast("RuleKind", choice_in(values, "kind", get_args(RuleKind))),
        pattern=text_in(values, "pattern", is_needed=True),
        scope=cast("RuleScope", choice_in(values, "scope", ("project", "always"))),
        created_at=time_in(values, "created_at") or datetime.min.replace(tzinfo=UTC),
        is_exact=flag_in(values, "is_exact"),
        folder=text_in(values, "folder"),
        details=texts_in(values, "details"),
        workspace=text_in(values, "workspace"),
        expires_at=time_in(values, "expires_at"),
        is_unconfined=flag_in(values, "is_unconfined"),
        repository=text_in(values, "repository"),
        repository_mark=text_in(values, "repository_mark"),
    )
    if rule.scope == "project" and not Path(rule.workspace).is_absolute():
        raise ValueError("workspace must be the project's folder, absolute")
    if rule.id in known:
        raise ValueError(f"another rule has the id {rule.id!r}, too")
    return rule


class LiveRules:
    """The lasting rules, reread when the file changes. One for all sessions. Thread-safe."""

    def __init__(self, file: RulesFile) -> None:
        """Does not read the file: there are no rules before the first `look`."""
        self.file = file
        self.loaded = LoadedRules()
        self._stamp: FileStamp | None = None
        self._is_read = False
        self._has_held = False
        self._lock = threading.Lock()

    @property
    def faults(self) -> tuple[FileProblem, ...]:
        """Why nothing may run: a rule that forbids or asks cannot be read, and no earlier rules replace it."""
        return () if self._has_held else tuple(problem for problem in self.loaded.problems if problem.is_fault)

    def go_on(self) -> None:
        self._has_held = True

    def look(self) -> None:
        """Read the file if it changed. Blocks; never raises."""
        with self._lock:
            stamp = stamp_of(self.file.path)
            if self._is_read and is_unchanged(stamp, self._stamp):
                return
            found = self.file.load()
            if found.is_forbidding_broken and self._has_held:
                held = tuple(rule for rule in self.loaded.rules if rule.effect != "allow")
                known = {rule.id for rule in held}
                found = replace(found, rules=(*held, *(rule for rule in found.rules if rule.id not in known)))
            self._has_held = self._has_held or not found.is_forbidding_broken
            if found != self.loaded:
                self.loaded = found
            self._stamp, self._is_read = stamp, True


class RuleBook:
    def __init__(self, live: LiveRules, session_rules: Mapping[str, Rule], log: EventLog) -> None:
        """`session_rules` follows the log: a rule is there as soon as the answer that made it is recorded."""
        self._live = live
        self._file = live.file
        self._session_rules = session_rules
        self._log = log
        self._lasting = LoadedRules()
        self._reported: tuple[str, ...] = ()
        self._is_read = False

    @property
    def rules(self) -> tuple[Rule, ...]:
        return (*self._session_rules.values(), *self._lasting.rules)

    @property
    def faults(self) -> tuple[FileProblem, ...]:
        return self._live.faults

    async def refresh(self) -> None:
        await asyncio.to_thread(self._live.look)
        loaded = self._live.loaded
        if self._is_read and loaded == self._lasting:
            return
        self._is_read = True
        self._lasting = loaded
        self.report()
        await self._report_problems()

    async def keep(self, rules: Sequence[Rule]) -> None:
        """Store these rules. One that cannot be written is reported and has no effect."""
        lasting = [rule for rule in rules if rule.scope != "session"]
        if lasting:
            try:
                await asyncio.to_thread(self._file.add, *lasting)
            except AgentError as error:
                await self._report_failure("The rule could not be saved, so you will be asked again.", error)
        await self.refresh()
        self.report()

    async def revoke(self, rule_id: str) -> None:
        try:
            await asyncio.to_thread(self._file.remove, rule_id)
        except AgentError as error:
            await self._report_failure("The rule could not be revoked, so it still applies.", error)
            return
        if rule_id in self._session_rules:
            await self._log.record(ev.RuleRevoked(rule_id=rule_id))
        await self.refresh()
        self.report()

    def report(self) -> None:
        self._log.emit(ev.RulesReported(rules=self.rules))

    async def _report_problems(self) -> None:
        problems = tuple(map(str, self._lasting.problems))
        if not problems or problems == self._reported:
            return
        self._reported = problems
        is_grave = self._lasting.is_forbidding_broken
        title = "A rule that forbids or asks cannot be read" if is_grave else "Some of your rules cannot be used"
        await self._log.record(
            ev.Notice(
                level="error" if is_grave else "warning",
                code="rules",
                title=f"{title}: the rules file has mistakes.",
                hint=f"Fix {self._file.path}.",
                detail="\n".join(problems),
            )
        )

    async def _report_failure(self, title: str, error: AgentError) -> None:
        notice = ev.Notice(level="error", code="rules", title=title, hint=error.hint, detail=error.detail or str(error))
        await self._log.record(notice)
