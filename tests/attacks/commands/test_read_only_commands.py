"""Reading commands run unasked; others ask, and say so if the sandbox would stop them."""

import pytest

from desktop_agent.core.policy.engine import Allow, Ask, Verdict
from desktop_agent.core.policy.read_only_commands import only_reads
from desktop_agent.core.policy.shell import parse
from tests.attacks.commands.lines import lines_of
from tests.core.policy.lines import sandboxed, verdict

TABLE = lines_of("read_only_commands")


def _judged(found: Verdict) -> str:
    match found:
        case Allow(confinement="strict"):
            return "reads"
        case Ask(is_escalation=True):
            return "outside"
        case Ask():
            return "asks"
        case _:
            return f"{found}"


@pytest.mark.parametrize("judged_as", ["reads", "asks", "outside"])
def test_every_line_is_judged_as_what_it_does(judged_as: str) -> None:
    lines = [line.command for line in TABLE if line.verdict == judged_as]
    assert lines
    assert [line for line in lines if _judged(verdict(line, sandboxed("on_write"))) != judged_as] == []


def test_nothing_but_what_reads_counts_as_reading() -> None:
    wrong = [line.command for line in TABLE if only_reads(parse(line.command)) != (line.verdict == "reads")]
    assert wrong == []


def test_the_corpus_has_not_shrunk() -> None:
    lines = [line.command for table in ("blocked", "read_only_commands", "offers") for line in lines_of(table)]
    assert len(set(lines)) >= 1300
