"""The front matter of files that anybody may have written: lenient, text only, and no bomb."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.extensions.untrusted import MOST_CHARS, split

WITH_ALL = """---
Name: review
version: 1.10
user-invocable: no
tools: Read, Bash(git:*)
skills:
  - a
  - b
argument-hint: [branch]
description: >
  Reviews
  changes.
metadata:
  author: x
---

Body
---
"""


def test_fields_are_text_lists_and_switches() -> None:
    found = split(WITH_ALL.replace("\n", "\r\n"))
    assert (found.text("name"), found.text("version"), found.body) == ("review", "1.10", "Body\r\n---")
    assert (found.texts("tools"), found.texts("skills")) == (("Read", "Bash(git:*)"), ("a", "b"))
    assert (found.text("description"), found.text("argument-hint")) == ("Reviews changes.", "[branch]")
    assert found.switch("user-invocable", default=True) is False
    assert found.switch("missing", default=True) is True
    assert found.fields["metadata"] == {"author": "x"}
    assert (found.text("metadata"), found.texts("metadata"), found.problem) == ("", (), "")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("description: Use it: when asked", "Use it: when asked"),
        ("description: - a dash", "- a dash"),
        ("description: it's 100% `code`", "it's 100% `code`"),
        ("description: @file", "@file"),
        ("description: [add|remove] [tag]", "[add|remove] [tag]"),
        ("description: *all* of it", "*all* of it"),
        ('description: "quoted: yes"', "quoted: yes"),
    ],
)
def test_what_is_no_yaml_is_read_with_its_values_quoted(line: str, expected: str) -> None:
    found = split(f"---\nbefore: fine\n{line}\ntools: [a, b]\n---\nBody")
    assert (found.text("description"), found.text("before"), found.texts("tools")) == (expected, "fine", ("a", "b"))


@pytest.mark.parametrize(
    "text", ["", "Body", "---", "---\nname: x\n", "text\n---\nname: x\n---\n", "--- x\na: b\n---\n"]
)
def test_a_file_without_front_matter_is_all_body(text: str) -> None:
    found = split(text)
    assert (found.fields, found.body, found.problem) == ({}, text.strip(), "")


@pytest.mark.parametrize(
    "above",
    [
        "[" * 20_000,
        "- " * 10_000,
        "{a: " * 5_000,
        "? " * 10_000,
        "x" * (MOST_CHARS + 1),
        "- a list",
        "<<: [*a, *a]",
        "[a]: b",
        "\x00: x",
    ],
    ids=["nested", "lists", "maps", "keys", "long", "list", "merge", "odd key", "control"],
)
def test_what_cannot_be_read_is_a_problem_and_leaves_the_body(above: str) -> None:
    found = split(f"---\n{above}\n---\nBody")
    assert (found.fields, found.body) == ({}, "Body")
    assert found.problem.startswith("its front matter ")


def test_aliases_stay_the_text_that_they_are() -> None:
    found = split("---\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n---\n")
    assert (found.fields["b"], found.fields["c"]) == ("&b [*a, *a]", "[*b, *b]")


def test_a_tag_makes_nothing_but_text() -> None:
    found = split("---\nname: !!python/object/apply:os.system [id]\nother: !!binary aGk=\n---\n")
    assert (found.text("name"), found.text("other")) == ("[id]", "aGk=")


@given(st.text(alphabet="abc:-[]{}&*!|>'\"%@#?, \n\t\u202e", max_size=200))
def test_nothing_in_a_file_raises(above: str) -> None:
    found = split(f"---\n{above}\n---\nBody")
    assert found.problem or found.body
