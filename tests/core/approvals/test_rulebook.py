"""The rule book always follows the file, whoever writes it and however quickly."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from desktop_agent.core.approvals import LiveRules, RuleBook, RulesFile
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import Rule
from tests.file_dates import TO_COME_NS, put_date

PUSH = Rule(
    id="r-1", effect="allow", kind="command", pattern="git push", scope="always",
    created_at=datetime(2026, 11, 22, tzinfo=UTC),
)  # fmt: skip


@dataclass
class Told:
    events: list[ev.KnownEvent | ev.LiveEvent] = field(default_factory=list)

    async def record(self, event: ev.KnownEvent) -> None:
        self.events.append(event)

    def emit(self, event: ev.LiveEvent) -> None:
        self.events.append(event)


@pytest.fixture
def file(tmp_path: Path) -> RulesFile:
    file = RulesFile(tmp_path / "rules.toml")
    file.add(PUSH)
    return file


async def test_a_rule_changed_within_one_step_of_the_files_clock_does_not_go_on_allowing(file: RulesFile) -> None:
    """The file has the same size, inode and date."""
    book = RuleBook(LiveRules(file), {}, Told())
    text = file.path.read_text()
    for effect in ("allow", "alarm"):  # as long as the word, but not an effect of a rule
        with file.path.open("r+") as opened:
            opened.write(text.replace('"allow"', f'"{effect}"'))
        put_date(file.path, TO_COME_NS)
        await book.refresh()
    assert book.rules == ()


async def test_what_is_read_again_and_says_the_same_is_not_told_again(file: RulesFile) -> None:
    told = Told()
    book = RuleBook(LiveRules(file), {}, told)
    put_date(file.path, TO_COME_NS)
    for _ in range(3):
        await book.refresh()
    assert told.events == [ev.RulesReported(rules=(PUSH,))]
