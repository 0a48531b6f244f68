"""The conversation shows markdown as two public specifications require, except for intended differences."""

from tests.ui.chat.markdown.conformance.outline import Seen
from tests.ui.chat.markdown.conformance.verdicts import HTML, Verdict, verdicts


def test_every_example_is_shown_as_it_is_meant_or_differs_for_a_listed_reason() -> None:
    found = list(verdicts())
    assert len(found) > 650
    surprises = [_told(each) for each in found if each.is_same == bool(each.reason)]
    assert not surprises, "\n".join(surprises)
    for each in found:
        if each.reason == HTML:
            assert "<" in _text(each.shown), f"HTML vanished: {_told(each)}"


def _told(verdict: Verdict) -> str:
    example = verdict.example
    return f"{example.number} ({example.section}): {example.markdown!r} is shown as {verdict.shown}"


def _text(shown: list[Seen]) -> str:
    return "".join(run.text for block in shown for line in block.lines for run in line)
