"""HTML as text: all readable text, in order, also from broken pages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.tools.web import read_page

BASE = "https://docs.example/guide/"


def text_of(html: str) -> str:
    return read_page(html, BASE).text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h1>One</h1><h3>Three</h3>text", "# One\n\n### Three\n\ntext"),
        ("<p>One\n  two</p><p>Three<br>four</p>", "One two\n\nThree\nfour"),
        ("a <b>bold</b> word, <i>so</i>.", "a bold word, so."),
        ('See <a href="../api#x">the <b>API</b></a>.', "See [the API](https://docs.example/api#x)."),
        ('<a href="#top">Top</a> <a href="javascript:x()">Do</a> <a>Not</a>', "Top Do Not"),
        ('<a href="/a"><div>Block</div><div>link</div></a>', "Block\n\nlink (https://docs.example/a)"),
        ("Use <code>x = 1</code> here", "Use `x = 1` here"),
        ("<pre><code>def f():\n    pass\n</code></pre>", "```\ndef f():\n    pass\n\n```"),
        ("<ul><li>One<li>Two<ol><li>In</li><li>Ner</li></ol></ul>End", "- One\n- Two\n  1. In\n  2. Ner\n\nEnd"),
        (
            "<table><tr><th>Name<th>Size</tr><tr><td><p>a</p></td><td>1</td></tr></table>",
            "| Name | Size |\n| a | 1 |",
        ),
        ("<blockquote>Said</blockquote>Then", "> Said\n\nThen"),
        ("One<hr>Two", "One\n\n---\n\nTwo"),
        ('<img src="https://x/y.png" alt="A  diagram"><img src="z.png">', "[image: A diagram]"),
        ("&lt;b&gt; &amp; &#8364; &nbsp;x", "<b> & € \xa0x"),
        ("<script>1</script>a<style>p{}</style><!-- no --><svg><text>no</text></svg> b", "a b"),
        ("<nav><a href='/'>Home</a></nav>Text", "Text"),
        ("<script>if (a<!b) { x() }</script>Text", "Text"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_what_is_for_reading_stays(html: str, text: str) -> None:
    assert text_of(html) == text


def test_the_title_is_told_apart() -> None:
    page = read_page("<html><head><title>A\n title</title></head><body>Text", BASE)
    assert (page.title, page.text) == ("A title", "Text")


def test_navigation_that_is_never_closed_does_not_swallow_the_page() -> None:
    assert "Text" in text_of("<nav><a href='/'>Home</a><p>Text")


@pytest.mark.parametrize(
    "unclosed", ["<!--", "<!", "<?", "<script>", "<a ", "</", "<pre>", "<table><tr><td>", "<li>", "&#"]
)
def test_what_is_opened_a_hundred_thousand_times_and_never_closed_is_read_all_the_same(unclosed: str) -> None:
    """Quadratic time would take minutes, and run into the suite's time limit."""
    assert isinstance(text_of(unclosed * 100_000), str)


@given(st.text(st.sampled_from("<>/!-?abu li\"'=&;# \n")) | st.text())
def test_any_text_is_read_without_an_error(html: str) -> None:
    text_of(html)
