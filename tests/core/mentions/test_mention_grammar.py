"""How files and folders are mentioned in a prompt, and what else an `@` may stand for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.plain_text import has_hidden
from desktop_agent.core.mentions.mention_grammar import (
    TypedMention,
    mentions_in,
    paths_in,
    typed_before,
    written,
    written_path,
)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("@docs:readme", [("docs", "readme")]),
        ("Read @docs:note://one, then go.", [("docs", "note://one")]),
        ('See (@docs:"Release \\"notes\\"").', [("docs", 'Release "notes"')]),
        ("@docs:wiki/Foo_(bar) (or @docs:b)", [("docs", "wiki/Foo_(bar)"), ("docs", "b")]),
        ("@a:x\n@b:y?", [("a", "x"), ("b", "y")]),
        ("mail me@example.org:8080 or a@docs:x", []),
        ("look at @src/app.py and @docs", []),
        ("@docs: nothing", []),
        ("`@docs:x` and ``a ` @docs:x``", []),
        ("```\n@docs:x\n```\n@docs:y", [("docs", "y")]),
        ("~~~\n @docs:x", []),
        ("@docs:...", []),
    ],
)
def test_mentions_stand_behind_a_blank_and_end_before_punctuation(text: str, meant: list[tuple[str, str]]) -> None:
    assert [(mention.source, mention.target) for mention in mentions_in(text)] == meant


def test_a_mention_says_where_and_how_it_stands_in_the_text() -> None:
    text = 'Say "@docs:a", and @docs:"b c".'

    assert [text[mention.start :].startswith(mention.written) for mention in mentions_in(text)] == [True, True]
    assert [mention.written for mention in mentions_in(text)] == ["@docs:a", '@docs:"b c"']


TARGETS = st.text(min_size=1, max_size=40).filter(
    lambda text: not has_hidden(text) and text.strip() and "\t" not in text
)


@given(
    TARGETS.filter(lambda text: "\n" not in text),
    st.sampled_from(["", "Read ", "(", "\n"]),
    st.sampled_from(["", " now", ". So"]),
)
def test_what_is_written_for_a_target_means_that_target(target: str, before: str, after: str) -> None:
    found = mentions_in(f"{before}{written('docs', target)}{after}")

    assert [(mention.source, mention.target) for mention in found] == [("docs", target)]


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    for mention in mentions_in(text):
        assert text[mention.start : mention.start + len(mention.written)] == mention.written
    typed_before(text, len(text))


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("@", TypedMention(0, "", "")),
        ("see @do", TypedMention(4, "", "do")),
        ("see @docs:", TypedMention(4, "docs", "")),
        ("see @docs:note://o", TypedMention(4, "docs", "note://o")),
        ('see @docs:"Release n', TypedMention(4, "docs", "Release n")),
        ("me@do", None),
        ("@docs:one two", None),
        ('@docs:"one" two', None),
        ("`@do", None),
        ("@do\nx", None),
    ],
)
def test_what_is_being_typed_is_read_up_to_the_cursor(text: str, typed: TypedMention | None) -> None:
    assert typed_before(text + "", len(text)) == typed


@pytest.mark.parametrize(
    ("text", "path", "lines", "written"),
    [
        ("@README.md", "README.md", "", "@README.md"),
        ("See @src/app.py.", "src/app.py", "", "@src/app.py"),
        ("(@src/app.py:10-40)", "src/app.py", "10-40", "@src/app.py:10-40"),
        ("@src/app.py:7, and", "src/app.py", "7", "@src/app.py:7"),
        ("@src/app.py:40-10", "src/app.py", "10-40", "@src/app.py:40-10"),
        ("@src/core/ has", "src/core/", "", "@src/core/"),
        ("@app/(group)/page.tsx", "app/(group)/page.tsx", "", "@app/(group)/page.tsx"),
        ("@app.py's end", "app.py", "", "@app.py"),
        ('@"my notes.md":3-4 say', "my notes.md", "3-4", '@"my notes.md":3-4'),
        (r'@"a \"b\".md"', 'a "b".md', "", r'@"a \"b\".md"'),
    ],
)
def test_a_path_is_read_with_its_lines(text: str, path: str, lines: str, written: str) -> None:
    (found,) = paths_in(text)

    assert (found.path, found.lines, found.written) == (path, lines, written)
    assert found.is_certain


@pytest.mark.parametrize(
    "text",
    [
        "@property",
        "@app.route('/')",
        "@types/node",
        "@angular/core",
        "@docs:readme.md",
        "@components/Button",
        "@Makefile",
    ],
)
def test_what_may_mean_something_else_is_not_certain(text: str) -> None:
    assert [found.is_certain for found in paths_in(text)] == [False]


@pytest.mark.parametrize("text", ["me@example.org", "`@a.py`", "```\n@a.py\n```", "@ a.py", '@"" x', "@@a.py", "@..."])
def test_these_are_no_mentions(text: str) -> None:
    assert paths_in(text) == ()


@given(
    st.text(min_size=1, max_size=40).filter(
        lambda text: not has_hidden(text) and text.strip() and "\n" not in text and "\t" not in text
    ),
    st.sampled_from([("", 0, 0), (":3", 3, 3), (":10-40", 10, 40)]),
    st.sampled_from(["", "Read ", "(", "\n"]),
    st.sampled_from(["", " now", ". So"]),
)
def test_what_is_written_for_a_path_means_that_path(
    path: str, lines: tuple[str, int, int], before: str, after: str
) -> None:
    written, first, last = lines
    (found,) = paths_in(f"{before}{written_path(path)}{written}{after}")

    assert (found.path, found.first, found.last) == (path, first, last)


@given(st.text(max_size=200))
def test_any_text_can_be_read_for_paths(text: str) -> None:
    for found in paths_in(text):
        assert text[found.start : found.start + len(found.written)] == found.written
