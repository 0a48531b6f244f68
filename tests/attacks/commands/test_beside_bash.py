"""The policy's reading of command lines against the real bash: no program runs unseen."""

from collections.abc import Sequence

import pytest

from desktop_agent.core.policy.read_only_commands import is_harmless_variable, only_reads
from desktop_agent.core.policy.segments import SHELLS, ParsedCommand, program_name
from desktop_agent.core.policy.shell import parse
from desktop_agent.core.policy.shell_words import Word
from tests.attacks.bounds import net
from tests.attacks.commands import generated
from tests.attacks.commands.bash_box import can_run, programs_of
from tests.attacks.commands.lines import lines_of

PROGRAMS = {
    *(line.split()[0] for line in (*generated.READERS, *generated.WRITERS)), "id", "true", "test", "[", "diff", "jq",
    "tr", "cut", "uniq", "date", "hostname", "tree", "file", "rg", "fd", "sudo", "ssh", "uname", "stat", "du", "whoami",
    "sleep", "touch", "cp", "mv", "chmod", "tar", "node", "make", "cargo", "pytest", "echo",
}  # fmt: skip
_EVALUATES = "n=$(printf 'a[\\44(CMD)]'); "
CONTEXTS = [
    line.command.removeprefix(_EVALUATES)
    for line in lines_of("read_only_commands")
    if line.command.startswith(_EVALUATES)
]
"""Contexts in which bash evaluates the value of `n`."""
BATCH = 250
_IN_ONE_NET = 25
SEED = 20_261_128

pytestmark = pytest.mark.skipif(not can_run(), reason="this machine has no bubblewrap that works, or no bash 5")


def understood(line: str) -> bool:
    """Whether rules may let the line run unasked: the policy then vouches for all that it runs."""
    parsed = parse(line)
    return (
        not parsed.problems
        and bool(parsed.segments)
        and all(is_harmless_variable(name) for segment in parsed.segments for name, _ in segment.assignments)
        and all(segment.parts[0].is_known for segment in parsed.segments if segment.parts)
    )


def lines(seed: int, count: int) -> list[str]:
    """Return generated lines that the policy understands; it asks about all others."""
    corpus = tuple(line.command for table in ("blocked", "read_only_commands", "offers") for line in lines_of(table))
    source = generated.Lines(seed, corpus)
    found: list[str] = []
    while len(found) < count:
        line = source.line()
        if "kill" not in line and "\0" not in line and understood(line):  # the box must outlive the line
            found.append(line)
    return found


def unseen(line: str, ran: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the argument lists of programs that ran but that the policy did not see in the line."""
    parsed = parse(line)
    seen = [segment.parts for segment in parsed.segments] + [words for s in parsed.segments for words in s.outer]
    if _has_xargs(parsed):
        seen.append((Word("echo"), Word("…", "simple")))  # what it starts when nothing is named
    for segment in parsed.segments:
        if segment.program in SHELLS:  # its script: a program of the box is one, too
            seen += [(word, Word("…", "simple")) for word in segment.parts[1:]]
    return [words for words in ran if not any(_is(words, parts) for parts in seen)]


def _has_xargs(parsed: ParsedCommand) -> bool:
    return any("xargs" in (segment.program, *segment.wrappers) for segment in parsed.segments)


def _is(ran: Sequence[str], parts: Sequence[Word]) -> bool:
    called = ran[0].removeprefix("/work/")  # `exec` gives a program its whole path
    if not parts or program_name(parts[0].text) != program_name(called):
        return False
    for place, word in enumerate(parts[1:], start=1):
        if not word.is_known or word.text.startswith("~") or "=~" in word.text or ":~" in word.text:
            return True  # an unknown value may be any number of words
        if place >= len(ran) or ran[place] != word.text:
            return False
    return len(ran) == len(parts)


def _ran(tried: Sequence[str]) -> list[list[tuple[str, ...]]]:
    """Return what ran for each line, a few lines at a time: a net kills its processes after 30 s."""
    found: list[list[tuple[str, ...]]] = []
    for at in range(0, len(tried), _IN_ONE_NET):
        with net() as enter:
            found += programs_of(tried[at : at + _IN_ONE_NET], PROGRAMS, enter)
    return found


def _found(tried: Sequence[str]) -> list[tuple[str, list[tuple[str, ...]]]]:
    result = zip(tried, _ran(tried), strict=True)
    return [(line, strange) for line, ran in result if (strange := unseen(line, ran))]


def test_the_box_sees_what_runs() -> None:
    """Values that start programs, a changed `PATH`, wrappers, shells, background jobs."""
    tried = {
        "n=$(cat f); ((n))": {"cat", "canary"},
        "((PATH=4)); ls": {"4/ls"},
        "printf 'xxxx%n' PATH; ls": {"4/ls"},
        "sh -c '((ls))'": {"sh", "ls"},
        "xargs -n 1 rm < g": {"xargs", "rm"},
        "(ls & ) & rm x": {"ls", "rm"},
        "/usr/bin/rm x; ./4/ls": {"rm", "./4/ls"},
        "while true; do ls; done": {"ls"},
        "find . -maxdepth 0 -exec ls {} +": {"find", "ls"},
    }
    ran = _ran(list(tried))
    assert [{program_name(words[0]) for words in each} for each in ran] == list(tried.values())


def test_no_context_that_evaluates_a_value_is_taken_for_plain() -> None:
    """Wherever bash ran the value in one of these contexts, the policy must have asked."""
    values = ("$(printf 'a[\\44(canary)]')", "$(cat f)", "a", "'a[0]'", "1")
    tried = [line for context in CONTEXTS for value in values if understood(line := f"n={value}; m={value}; {context}")]
    assert _found(tried[:BATCH]) == []


def test_no_program_runs_that_the_policy_did_not_see() -> None:
    tried = lines(SEED, BATCH)
    assert sum(only_reads(parse(line)) for line in tried) > BATCH / 5
    assert _found(tried) == []


@pytest.mark.nightly
@pytest.mark.parametrize("batch", range(1, 81))
def test_no_program_runs_unseen_in_twenty_thousand_lines(batch: int) -> None:
    assert _found(lines(SEED + batch, BATCH)) == []
