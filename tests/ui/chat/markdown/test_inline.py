"""Inline markdown becomes text and spans; nothing in it can load, run or hide anything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.ui.chat.markdown.parser import (
    BOLD,
    CODE,
    ITALIC,
    LINE_BREAK,
    LINK,
    MUTED,
    PICTURE,
    STRIKE,
    InlineSpan,
    RichText,
    rich_text,
    utf16_slice,
)
from desktop_agent.ui.wording import utf16_length


def read(text: str) -> RichText:
    return rich_text(text, {})


LINKED = InlineSpan(10, 15, LINK, "https://x/y.png")


def links(rich: RichText) -> list[tuple[str, str]]:
    return [
        (utf16_slice(rich.text, span.start, span.start + span.length), span.href) for span in rich.spans if span.href
    ]


@pytest.mark.parametrize(
    ("text", "rich"),
    [
        ("just words, 1 + 1 = 2.", RichText("just words, 1 + 1 = 2.")),
        (
            "a **b _c_** `x` ~~d~~",
            RichText(
                "a b c x d",
                (
                    InlineSpan(2, 2, BOLD),
                    InlineSpan(4, 1, BOLD | ITALIC),
                    InlineSpan(6, 1, CODE),
                    InlineSpan(8, 1, STRIKE),
                ),
            ),
        ),
        ("😀 **b**", RichText("😀 b", (InlineSpan(3, 1, BOLD),))),
        ("one\ntwo  \nthree", RichText(LINE_BREAK.join(("one", "two", "three")))),
        (r"a&amp;b \*c\*", RichText("a&b *c*")),
        ('<img src="https://x/y.png"> <b>bold</b>', RichText('<img src="https://x/y.png"> <b>bold</b>', (LINKED,))),
        ("[the code](src/app.py#L3)", RichText("the code (src/app.py#L3)", (InlineSpan(8, 16, MUTED),))),
    ],
    ids=["plain", "emphasis adds up", "UTF-16 units", "line breaks", "entities", "HTML stays text", "a path is said"],
)
def test_inline_markdown_becomes_text_and_spans(text: str, rich: RichText) -> None:
    assert read(text) == rich


@pytest.mark.parametrize("text", ["[label](https://a.b/c)", "<https://a.b/c>", "https://a.b/c"])
def test_web_addresses_become_links(text: str) -> None:
    assert [href for _, href in links(read(text))] == ["https://a.b/c"]


def test_a_bare_address_ends_before_the_punctuation_of_its_sentence() -> None:
    assert links(read("See https://a.b/c_d. And (http://x.y/z)!")) == [
        ("https://a.b/c_d", "https://a.b/c_d"),
        ("http://x.y/z", "http://x.y/z"),
    ]


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x", "ftp://x/y", "mailto:a@b"],
)
def test_other_addresses_are_no_links(address: str) -> None:
    rich = read(f"[click]({address}) ![pic]({address})")
    assert links(rich) == []
    assert not any(span.style & LINK for span in rich.spans)


@pytest.mark.parametrize(
    ("text", "shown", "address"),
    [
        ("![a cat](https://cats.example/1.png)", "a cat (cats.example)", "https://cats.example/1.png"),
        ("![](https://cats.example/1.png)", "cats.example", "https://cats.example/1.png"),
        ("![a cat](img/a%20cat.png)", "a cat (img/a cat.png)", "img/a%20cat.png"),
        ("![](a%E2%80%AEgnp.exe)", "a⟨U+202E⟩gnp.exe", "a%E2%80%AEgnp.exe"),
    ],
)
def test_an_image_is_a_link_that_says_what_it_shows_and_where_it_is_from(text: str, shown: str, address: str) -> None:
    assert links(read(text)) == [(f"Picture: {shown}", PICTURE + address)]


def test_an_image_in_a_link_is_the_text_of_the_link() -> None:
    assert links(read("[![a cat](cat.png)](https://a.b)")) == [("a cat", "https://a.b")]


def test_a_reference_is_a_link_once_it_is_defined() -> None:
    definition: dict[str, object] = {"title": "", "href": "https://a.b"}
    assert links(rich_text("[foo]", {"FOO": definition})) == [("foo", "https://a.b")]
    assert links(rich_text("[foo]", {})) == []


@given(st.text())
def test_spans_lie_within_the_text_and_never_overlap(text: str) -> None:
    rich = read(text)
    end = 0
    for span in rich.spans:
        assert span.start >= end
        end = span.start + span.length
    assert end <= utf16_length(rich.text)


@given(st.text(), st.integers(0, 20), st.integers(0, 20))
def test_slices_join_to_the_text(text: str, first: int, second: int) -> None:
    at = min(first, utf16_length(text))
    if utf16_length(utf16_slice(text, 0, at)) == at and "\ufffd" not in utf16_slice(text, 0, at):
        assert utf16_slice(text, 0, at) + utf16_slice(text, at, utf16_length(text)) == text
    assert utf16_slice(text, 0, utf16_length(text)) == text
    assert second >= 0


@pytest.mark.parametrize(
    "text",
    [
        *("$a*b*c$", r"the sum $\sum_{i=1}^n x_i$, and $y_1$", "$$a_1 * b$$ and $$\nx*y*z$$", r"\(a_1 * b_2 * c\)"),
        *(r"\[ x_1 * y * z \]", "it costs $5 and $6, or $7-$8", "an unfinished $a"),
    ],
)
def test_formulas_and_amounts_stay_as_they_were_written(text: str) -> None:
    assert read(text) == RichText(text.replace("\n", LINE_BREAK))


@pytest.mark.parametrize(
    ("text", "shown"),
    [(r"\(n\) and arr\[0\]", "(n) and arr[0]"), ("$5 *and* $6", "$5 and $6"), (r"\$a*b*\$", "$ab$")],
)
def test_what_is_no_formula_is_markdown(text: str, shown: str) -> None:
    assert read(text).text == shown
