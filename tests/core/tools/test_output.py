"""The model's view of an output, and its limits."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from desktop_agent.core.diff.text import line_count
from desktop_agent.core.tools.output import (
    MODEL_FORMAT,
    RESULT_LIMIT,
    ContextLimits,
    OutputLimits,
    fit,
    fit_all,
)

SMALL = OutputLimits(max_bytes=200, max_lines=12)
MARK = re.compile(r"\[\.\.\. omitted (\d+) of (\d+) lines \.\.\.]\n\n")

lines = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=80), max_size=60)


def joined(lines: list[str], end: str) -> str:
    return "\n".join(lines) + end


texts = st.builds(joined, lines, st.sampled_from(["", "\n"]))


def parts(text: str) -> tuple[str, int, int, str]:
    header, rest = text.split("\n\n", 1)
    mark = list(MARK.finditer(rest))[-1]
    assert header == f"Total output lines: {mark[2]}"
    return rest[: mark.start()], int(mark[1]), int(mark[2]), rest[mark.end() :]


@pytest.mark.parametrize("text", ["", "one\n", "no newline", "x" * 10_240, "a\n" * 256, "a\n" * 255 + "b", "é" * 5_120])
def test_what_is_within_both_limits_stays_as_it_is(text: str) -> None:  # O-02
    fitted = fit(text)
    assert (fitted.text, fitted.is_truncated) == (text, False)


def test_a_thousand_short_lines_keep_their_ends_and_are_counted() -> None:  # O-03, O-06
    fitted = fit("".join(f"line {number}\n" for number in range(1, 1001)))
    head, omitted, total, tail = parts(fitted.text)
    assert fitted.is_truncated
    assert fitted.text.startswith("Total output lines: 1000\n\nline 1\n")
    assert head.splitlines()[-1] == "line 128"
    assert tail.splitlines()[0] == "line 877"
    assert tail.endswith("line 1000\n")
    assert (omitted, total) == (748, 1000)


def test_the_limit_holds_with_header_and_mark() -> None:  # Z-110
    for text in ("x" * 50_000, ("y" * 79 + "\n") * 5_000, "€" * 20_000):
        assert MODEL_FORMAT.max_bytes - 100 < len(fit(text).text.encode()) <= MODEL_FORMAT.max_bytes
    assert line_count(fit("x\n" * 50_000).text.encode()) == MODEL_FORMAT.max_lines


@given(texts)
@example("".join(f"{number:03}{'x' * 196}\n" for number in range(100)))  # Z-110: lost its whole tail
@example("".join(f"{number:03}{'x' * 60}\n" for number in range(200)))  # Z-110: `omitted 0 of 200 lines`
@example("a" * 20_000 + "b" * 20_000)
@example("€" * 9_000 + "\nmiddle\n" + "ü" * 9_000 + "\n")
def test_the_limits_always_hold_and_nothing_is_invented(text: str) -> None:
    """O-04: text is cut between characters, and the cut is counted."""
    fitted = fit(text, limits=SMALL)
    content = text.encode()
    if not fitted.is_truncated:
        assert fitted.text == text
        assert len(content) <= SMALL.max_bytes
        assert line_count(content) <= SMALL.max_lines
        return
    assert len(fitted.text.encode()) <= SMALL.max_bytes
    assert line_count(fitted.text.encode()) <= SMALL.max_lines
    head, omitted, total, tail = parts(fitted.text)
    assert total == line_count(content)
    assert head
    assert tail
    assert text.startswith((head, head.removesuffix("\n")))
    assert text.endswith(tail)
    whole_in_head = head.count("\n") if text.startswith(head) else 0
    whole_in_tail = line_count(tail.encode()) if text[: -len(tail)].endswith("\n") else 0
    assert omitted == total - whole_in_head - whole_in_tail
    assert omitted > 0


@given(texts)
def test_fitting_twice_changes_nothing(text: str) -> None:
    once = fit(text, limits=SMALL)
    assert fit(once.text, limits=SMALL).text == once.text
    assert fit(text, limits=SMALL) == once


@given(texts, st.integers(110, 500), st.integers(200, 500))
def test_a_missing_middle_makes_no_difference(text: str, head_bytes: int, tail_bytes: int) -> None:
    """The process runner keeps only the ends; the model reads the same as from the whole output."""
    content = text.encode()
    if len(content) <= head_bytes + tail_bytes:
        return
    head = content[:head_bytes].decode("utf-8", "ignore")
    tail = content[-tail_bytes:].decode("utf-8", "ignore")
    assert fit(head, tail, total_lines=line_count(content), limits=SMALL) == fit(text, limits=SMALL)


def test_the_end_of_a_missing_middle_is_not_taken_for_a_line() -> None:
    fitted = fit("a\n" * 100, "half\nwhole\n", total_lines=500, limits=SMALL)
    head, omitted, total, tail = parts(fitted.text)
    assert (head, tail) == ("a\n" * 6, "whole\n")
    assert (omitted, total) == (493, 500)


def test_every_result_has_a_limit_of_its_own() -> None:  # O-09
    assert fit("x\n" * 51_200, limits=RESULT_LIMIT).is_truncated is False
    fitted = fit("x\n" * 260_000, limits=RESULT_LIMIT)
    assert fitted.is_truncated
    assert 102_000 < len(fitted.text.encode()) <= 102_400
    assert "omitted" in fitted.text


def test_what_commands_print_keeps_to_the_model_format_first() -> None:
    """Z-08, O-01, O-08, O-09: the layers have an order, and each one narrows the last."""
    text = "x\n" * 300
    assert line_count(fit_all(text, ContextLimits(), is_printed=True).text.encode()) == 256
    assert fit_all(text, ContextLimits()).is_truncated is False
    narrow = ContextLimits(max_lines=100)
    assert line_count(fit_all(text, narrow, is_printed=True).text.encode()) == 100
    wide = ContextLimits(max_tool_tokens=10**6, max_stdout_bytes=10**7, max_lines=10**6)
    assert len(fit_all("x" * 200_000, wide).text) == RESULT_LIMIT.max_bytes


def test_the_persons_limits_are_tokens_bytes_and_lines() -> None:
    """O-08: a token counts as four bytes."""
    assert len(fit_all("x" * 50_000, ContextLimits()).text) == 16_000
    assert len(fit_all("x" * 50_000, ContextLimits(max_stdout_bytes=5_000)).text) == 5_000
    assert len(fit_all("x" * 50_000, ContextLimits(max_tool_tokens=1_000)).text) == 4_000
    assert line_count(fit_all("x\n" * 2_000, ContextLimits()).text.encode()) == 800


def test_a_text_is_cut_once_and_its_header_counts_all() -> None:
    fitted = fit_all("line\n" * 100_000, ContextLimits(max_lines=50), is_printed=True)
    assert fitted.text.count("Total output lines:") == 1
    assert fitted.text.startswith("Total output lines: 100000\n")


limits = st.builds(
    ContextLimits,
    max_tool_tokens=st.integers(-1, 400),
    max_stdout_bytes=st.integers(-1, 2_000),
    max_lines=st.integers(-1, 60),
)


@given(texts, st.integers(1, 40), limits, st.booleans())
def test_any_text_keeps_to_any_limits_with_a_tail_and_whole_characters(
    text: str, repeats: int, limits: ContextLimits, is_printed: bool
) -> None:  # Z-110, Z-111
    text *= repeats
    fitted = fit_all(text, limits, is_printed=is_printed)
    allowed = limits.as_output_limits()
    content = fitted.text.encode()
    assert len(content) <= min(allowed.max_bytes, RESULT_LIMIT.max_bytes)
    assert line_count(content) <= allowed.max_lines
    assert fit_all(text, limits, is_printed=is_printed) == fitted
    if fitted.is_truncated:
        _, omitted, total, tail = parts(fitted.text)
        assert tail
        assert text.endswith(tail)
        assert 0 < omitted <= total == line_count(text.encode())
    else:
        assert fitted.text == text
