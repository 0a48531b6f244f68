"""Writing commands among reading ones are noticed; `tests/attacks/commands` has the table."""

from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.policy.read_only_commands import only_reads
from desktop_agent.core.policy.shell import parse
from tests.attacks.commands.lines import lines_of

READING = [
    line.command
    for line in lines_of("read_only_commands")
    if line.verdict == "reads" and not {"\n", "#"} & set(line.command)
]
WRITERS = [
    "rm x", "git push", "curl x", "tee f", "python x.py", "unknown", "ls > f", "sort -o f x", "find . -delete", "$X",
]  # fmt: skip


def test_nothing_at_all_does_not_count_as_reading() -> None:
    """Fail closed."""
    assert not only_reads(parse(""))
    assert not only_reads(parse("   "))


@given(
    st.lists(st.sampled_from(READING), min_size=0, max_size=3),
    st.sampled_from(WRITERS),
    st.lists(st.sampled_from(READING), min_size=0, max_size=3),
    st.sampled_from(["; ", " && ", " || ", "\n", " & "]),
)
def test_one_writing_command_among_readers_is_enough(
    before: list[str], writer: str, after: list[str], joint: str
) -> None:
    assert not only_reads(parse(joint.join([*before, writer, *after])))


@given(
    st.sampled_from(READING),
    st.sampled_from(WRITERS),
    st.sampled_from(["{} $({})", "{} <({})", '{} "$({})"', "{} `{}`"]),
)
def test_a_writer_inside_a_reader_is_seen(reader: str, writer: str, form: str) -> None:
    assert not only_reads(parse(form.format(reader, writer)))
