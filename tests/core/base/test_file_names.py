"""File names for JSON, models and lines of text, written and read back."""

import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from desktop_agent.core.base.file_names import (
    legible_name,
    legible_names,
    name_on_a_line,
    quoted_name,
    real_name,
    real_names,
    unquoted_name,
)
from tests.odd_names import ODD_NAMES

any_name = st.one_of(
    st.binary(min_size=1, max_size=12).filter(lambda name: b"\0" not in name).map(os.fsdecode),
    st.text(st.sampled_from('"\\351nt a\n\udce9\u202eé'), min_size=1, max_size=12).map(os.fsencode).map(os.fsdecode),
)


@given(any_name)
@example('"\\"caf\\\\351.txt\\""')
def test_every_spelling_of_a_name_gives_the_name_back(name: str) -> None:
    assert real_name(legible_name(name)) == name
    assert real_name(name_on_a_line(name)) == name
    assert real_name(legible_name(name), is_there=lambda _: False) == name
    legible_name(name).encode()
    assert "\n" not in name_on_a_line(name)
    if not name.startswith('"') and name.strip() == name:
        assert unquoted_name(quoted_name(name)) == name


@given(any_name, any_name)
def test_two_names_have_no_spelling_in_common(one: str, other: str) -> None:
    if one != other:
        spelled = {legible_name(one), name_on_a_line(one)}
        assert spelled.isdisjoint({legible_name(other), name_on_a_line(other)})


@pytest.mark.parametrize(
    ("name", "in_json", "on_a_line"),
    [
        ("plain.txt", "plain.txt", "plain.txt"),
        ('say "hi".txt', 'say "hi".txt', 'say "hi".txt'),
        ("a\\b", "a\\b", "a\\b"),
        ("caf\udce9.txt", r'"caf\351.txt"', r'"caf\351.txt"'),
        (r'"caf\351.txt"', r'"\"caf\\351.txt\""', r'"\"caf\\351.txt\""'),
        ("a\nb", "a\nb", r'"a\nb"'),
        ("a\u202eb", "a\u202eb", r'"a\342\200\256b"'),
        ('"whole"', r'"\"whole\""', r'"\"whole\""'),
        ('"leading', '"leading', '"leading'),
    ],
)
def test_only_a_name_that_needs_it_is_in_quotes(name: str, in_json: str, on_a_line: str) -> None:
    assert (legible_name(name), name_on_a_line(name)) == (in_json, on_a_line)


def test_quotes_of_others_are_taken_off_if_no_such_name_is_there() -> None:
    assert real_name(r'"caf\303\251.txt"', is_there=lambda _: False) == "café.txt"
    assert real_name('"whole"', is_there=lambda _: True) == '"whole"'
    assert real_name(r'"caf\351.txt"', is_there=lambda _: True) == "caf\udce9.txt"


def test_a_document_for_others_is_unicode_and_its_arguments_and_patches_are_as_given() -> None:
    given = {
        "path": "caf\udce9",
        "paths": ["caf\udce9", r'"caf\351"'],
        "title": "read caf\udce9",
        "patch": "+\udce9",
        "arguments": {"path": r'"caf\351"'},
    }
    told = legible_names(given)
    assert told == {
        "path": r'"caf\351"',
        "paths": [r'"caf\351"', r'"\"caf\\351\""'],
        "title": r"read caf\351",
        "patch": "+\udce9",
        "arguments": {"path": r'"caf\351"'},
    }
    assert real_names(told)["paths"] == given["paths"]
    assert real_names(told)["arguments"] == given["arguments"]


def test_the_table_of_odd_names_has_each_once() -> None:
    assert len({*ODD_NAMES, *map(legible_name, ODD_NAMES)}) > len(ODD_NAMES)
    assert len({legible_name(name) for name in ODD_NAMES}) == len(ODD_NAMES)
