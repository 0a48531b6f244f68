"""The HTML export is one file that does nothing, whatever was said in the session."""

from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

from desktop_agent.core.export import export_text
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import TextBlock
from tests.core.export.conftest import KEY, Written

ALLOWED_TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "footer", "section", "h1", "h2", "h3", "h4",
    "h5", "h6", "p", "a", "em", "strong", "s", "code", "pre", "span", "div", "details", "summary", "dl", "dt", "dd",
    "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td", "hr", "br", "img",
}  # fmt: skip
ALLOWED_ATTRIBUTES = {
    "html": {"lang"}, "meta": {"charset", "http-equiv", "content", "name"}, "a": {"href", "rel"}, "img": {"alt", "src"},
    "ol": {"start"},
}  # fmt: skip


class Page(HTMLParser):
    """What a browser would make of it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.style = ""
        self.words = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "style":
            self.style += data
        else:
            self.words += data


def page_of(written: Written) -> tuple[str, Page]:
    text = b"".join(export_text(written.path, "html", written.blobs)).decode()
    return text, Page(text)


def test_nothing_in_the_file_is_active(hostile: Written) -> None:
    _, page = page_of(hostile)
    for tag, attributes in page.tags:
        assert tag in ALLOWED_TAGS
        assert set(attributes) <= ALLOWED_ATTRIBUTES.get(tag, set()) | {"class"}
        if tag == "a":
            assert attributes["href"].startswith(("https://", "http://"))
        if tag == "img":
            assert attributes["src"].startswith("data:image/png;base64,")


def test_the_policy_allows_the_one_style_sheet_by_its_hash_and_nothing_from_elsewhere(hostile: Written) -> None:
    _, page = page_of(hostile)
    policies = [a["content"] for tag, a in page.tags if tag == "meta" and "http-equiv" in a]
    digest = b64encode(sha256(page.style.encode()).digest()).decode()
    expected = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    assert policies == [expected]
    assert "url(" not in page.style
    assert "@import" not in page.style


def test_what_was_said_can_be_read_with_what_hides_made_visible(hostile: Written) -> None:
    text, page = page_of(hostile)
    assert "<script>alert(1)</script>" in page.words
    assert "[U+202E]gnp.exe" in page.words
    assert "nul\u2400here" in page.words
    assert "lone\ufffdsurrogate" in page.words
    assert not any(character in text for character in "\x00\x1b\x07\x9b\u202e\ud800")
    assert "the end" in page.words


def test_keys_are_masked(hostile: Written) -> None:
    text, _ = page_of(hostile)
    assert KEY not in text
    assert "sk-ant-***" in text


def test_a_picture_is_in_the_file_if_it_is_one(hostile: Written) -> None:
    _, page = page_of(hostile)
    assert sum(tag == "img" for tag, _ in page.tags) == 1
    assert "A picture is not shown" in page.words


def test_a_call_is_folded_with_its_coloured_diff(hostile: Written) -> None:
    text, page = page_of(hostile)
    assert sum(tag == "details" for tag, _ in page.tags) == 3
    assert '<span class="del">-a = 1</span>' in text
    assert '<span class="add">+a = &#x27;&lt;script&gt;&#x27;</span>' in text


def test_code_has_the_colours_of_its_language(written: Written) -> None:
    written.turn(1, "go", TextBlock(text="```python\ndef f(): return 1\n```"))
    text, _ = page_of(written)
    assert '<span class="k">def</span>' in text


def test_a_line_that_cannot_be_read_is_named(written: Written) -> None:
    written.turn(1, "go", TextBlock(text="fine"))
    with written.path.open("ab") as file:
        file.write(b"{broken\n")
    _, page = page_of(written)
    assert "Records that could not be read" in page.words
    assert "fine" in page.words


def test_an_empty_session_is_a_page_too(written: Written) -> None:
    _, page = page_of(written)
    assert "Untitled session" in page.words


def test_a_changed_file_whose_content_is_gone_is_named(written: Written) -> None:
    written.turn(1, "go", TextBlock(text="fine"))
    change = written.change("1.1", "a.py", b"1\n", b"2\n")
    hostile_blob = next(Path(written.blobs.folder).glob(f"{change.before.digest}*")) if change.before else None
    assert hostile_blob is not None
    hostile_blob.unlink()
    from desktop_agent.core.protocol.model import ToolUseBlock

    written.turn(3, "go", ToolUseBlock(id="c9", name="edit_file", arguments={}))
    written.add(ev.ChangesRecorded(turn=3, call_id="c9", changes=(change,)))
    _, page = page_of(written)
    assert "a.py: the content is no longer on disk" in page.words
