"""The rules in force in one session: its own, which the journal holds, and the lasting ones of the user's file.

Several windows may share that file. Before every decision it is looked at again, and read when it changed, so a rule
that was revoked elsewhere does not go on allowing here. When it can no longer be read, what it forbade stays forbidden;
when it cannot be read at the start, nothing runs until it is mended or the user decides.
"""

import asyncio
import threading
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from desktop_agent.core.approvals.rules_file import LoadedRules, RulesFile
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.event_log import EventLog
from desktop_agent.core.protocol.model import Rule
from desktop_agent.core.settings import FileProblem
from desktop_agent.core.system.private_files import FileStamp, is_unchanged, stamp_of


class LiveRules:
    """The lasting rules, followed. One for all sessions; for any thread."""

    def __init__(self, file: RulesFile) -> None:
        """Reads nothing yet: there are no rules before the first `look`."""
        self.file = file
        self._loaded = LoadedRules()
        self._stamp: FileStamp | None = None
        self._is_read = False
        self._has_held = False
        self._lock = threading.Lock()

    @property
    def loaded(self) -> LoadedRules:
        """The rules in force, and what is wrong with the file."""
        return self._loaded

    @property
    def faults(self) -> tuple[FileProblem, ...]:
        """Why nothing may run: a rule that forbids or asks cannot be read, and no earlier rules can stand in."""
        return () if self._has_held else tuple(problem for problem in self._loaded.problems if problem.is_fault)

    def go_on(self) -> None:
        """Put in force the rules that can be read. Only the user decides that."""
        self._has_held = True

    def look(self) -> None:
        """Read the file if it changed. Blocks; never raises."""
        with self._lock:
            stamp = stamp_of(self.file.path)
            if self._is_read and is_unchanged(stamp, self._stamp):
                return
            found = self.file.load()
            if found.is_forbidding_broken and self._has_held:
                found = _with_what_held(found, self._loaded)
            self._has_held = self._has_held or not found.is_forbidding_broken
            self._loaded = found if found != self._loaded else self._loaded
            self._stamp, self._is_read = stamp, True


def _with_what_held(found: LoadedRules, before: LoadedRules) -> LoadedRules:
    """Return what can be read of a broken file, and before it everything that forbade or asked until now."""
    held = tuple(rule for rule in before.rules if rule.effect != "allow")
    known = {rule.id for rule in held}
    return replace(found, rules=(*held, *(rule for rule in found.rules if rule.id not in known)))


class RuleBook:
    """What the user decided once for calls to come."""

    def __init__(self, live: LiveRules, session_rules: Mapping[str, Rule], log: EventLog) -> None:
        """`session_rules` follows the log: it has a rule as soon as the answer that made it is on record."""
        self._live = live
        self._file = live.file
        self._session_rules = session_rules
        self._log = log
        self._lasting = LoadedRules()
        self._reported: tuple[str, ...] = ()
        self._is_read = False

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules in force, the session's own first."""
        return (*self._session_rules.values(), *self._lasting.rules)

    @property
    def faults(self) -> tuple[FileProblem, ...]:
        """Why nothing may run; see `LiveRules.faults`."""
        return self._live.faults

    async def refresh(self) -> None:
        """Read the file if it changed, and report what is in force and what of it cannot be used."""
        await asyncio.to_thread(self._live.look)
        loaded = self._live.loaded
        if self._is_read and loaded == self._lasting:
            return
        self._is_read = True
        self._lasting = loaded
        self.report()
        await self._report_problems()

    async def keep(self, rules: Sequence[Rule]) -> None:
        """Write the lasting ones of `rules` to the file. What cannot be written is reported, and does not count."""
        lasting = [rule for rule in rules if rule.scope != "session"]
        if lasting:
            try:
                await asyncio.to_thread(self._file.add, *lasting)
            except AgentError as error:
                await self._report_failure("The rule could not be kept, so you will be asked again.", error)
        await self.refresh()
        self.report()

    async def revoke(self, rule_id: str) -> None:
        """Take a rule back, wherever it is kept; an unknown one is no error."""
        try:
            await asyncio.to_thread(self._file.remove, rule_id)
        except AgentError as error:
            await self._report_failure("The rule could not be taken back, so it still holds.", error)
            return
        if rule_id in self._session_rules:
            await self._log.record(ev.RuleRevoked(rule_id=rule_id))
        await self.refresh()
        self.report()

    def report(self) -> None:
        """Report what is in force to the front ends."""
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
                hint=f"Mend {self._file.path}.",
                detail="\n".join(problems),
            )
        )

    async def _report_failure(self, title: str, error: AgentError) -> None:
        notice = ev.Notice(level="error", code="rules", title=title, hint=error.hint, detail=error.detail or str(error))
        await self._log.record(notice)
