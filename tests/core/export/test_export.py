"""Exports: Markdown, HTML and patches of a session, written whole or not at all."""

import json
import subprocess
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.export import ExportForm, export_session, export_text
from desktop_agent.core.export.markdown import harmless
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ChangeSelection, TextBlock, ToolCall, ToolResult, ToolUseBlock
from tests.core.export.conftest import KEY, MODEL, Written


class StoppedError(Exception):
    pass


def test_a_file_that_exists_is_not_overwritten(hostile: Written, tmp_path: Path) -> None:
    target = tmp_path / "out.md"
    target.write_text("mine")
    with pytest.raises(UsageError):
        export_session(hostile.path, "md", hostile.blobs, target)
    assert target.read_text() == "mine"
    size = export_session(hostile.path, "md", hostile.blobs, target, overwrites=True)
    assert target.stat().st_size == size > 1000


@pytest.mark.parametrize("name", ["a\0b.md", "half a character \ud800.md", "n" * 300])
@pytest.mark.parametrize("overwrites", [True, False])
def test_a_name_that_no_file_can_have_is_refused_and_nothing_is_written(
    hostile: Written, tmp_path: Path, name: str, *, overwrites: bool
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(UsageError):
        export_session(hostile.path, "md", hostile.blobs, folder / name, overwrites=overwrites)
    assert list(folder.iterdir()) == []


def test_nothing_is_left_of_an_export_that_is_stopped(hostile: Written, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()

    def stop(_written: int) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        export_session(hostile.path, "html", hostile.blobs, folder / "a.html", progress=stop)
    assert list(folder.iterdir()) == []


def test_jsonl_holds_every_record_with_its_payloads_and_says_what_is_left_out(hostile: Written) -> None:
    before = hostile.path.read_bytes()
    lines = [json.loads(line) for line in export_text(hostile.path, "jsonl", hostile.blobs)]
    assert lines[0] == {"type": "desktop_agent_export", "version": 1, "session_id": hostile.id}
    assert lines[-1]["type"] == "export_ended"
    assert lines[-1]["records"] == len(before.splitlines()) == sum("seq" in line for line in lines)
    assert any("contents of changed files" in reason for reason in lines[-1]["left_out"])
    assert sum(line["type"] == "blob" for line in lines) == 3
    assert KEY not in json.dumps(lines)
    assert hostile.path.read_bytes() == before, "reading changes nothing"


def test_jsonl_of_lines_whose_type_is_no_text_is_written_all_the_same(hostile: Written) -> None:
    hostile.path.write_bytes(hostile.path.read_bytes() + b'{"type":[]}\n{"type":{}}\n')
    *_, last, _ = b"".join(export_text(hostile.path, "jsonl", hostile.blobs)).splitlines()
    assert json.loads(last) == {"type": {}}


@pytest.mark.parametrize("form", ["jsonl", "md", "html"])
@pytest.mark.parametrize("before", ["ANTHROPIC_API_KEY=x\n", "a\t", "\x1b[32m", "\r"], ids=ascii)
def test_a_key_at_the_beginning_of_an_output_line_is_not_exported(
    written: Written, form: ExportForm, before: str
) -> None:
    said = f"{before}{KEY}\n"
    output = json.dumps({"stdout": said, "nested": json.dumps([said])})
    result = ToolResult(content=output, output=written.blobs.put_ref(output.encode(), "text/plain; charset=utf-8"))
    call = ToolUseBlock(id="c1", name="run_terminal_cmd", arguments={"command": f"printf '%s'\n{KEY}", "env": [said]})
    written.turn(1, f"see{before}{KEY}", TextBlock(text=f"so{before}{KEY}"), call, results={"c1": result})
    document = b"".join(export_text(written.path, form, written.blobs)).decode()
    assert KEY not in document
    assert KEY[12:] not in document
    assert "sk-ant-***" in document


def applied(folder: Path, patch: bytes) -> None:
    folder.mkdir(exist_ok=True)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)  # noqa: TID251 - a real git
    subprocess.run(["git", "apply", "-"], cwd=folder, input=patch, check=True)  # noqa: TID251 - a real git


def test_git_applies_the_net_of_all_changes(written: Written, tmp_path: Path) -> None:
    first = written.change("1.1", "a.txt", b"one\n", b"two\n")
    second = written.change("1.2", "a.txt", b"two\n", b"three\n")
    made = written.change("1.3", "new.bin", None, b"\x00\x01")
    written.turn(1, "go", TextBlock(text="ok"))
    written.add(ev.ChangesRecorded(turn=1, call_id="", changes=(first, second, made)))
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "a.txt").write_bytes(b"one\n")
    applied(tmp_path / "repo", b"".join(export_text(written.path, "patch", written.blobs)))
    assert (tmp_path / "repo" / "a.txt").read_bytes() == b"three\n"
    assert (tmp_path / "repo" / "new.bin").read_bytes() == b"\x00\x01"


def test_what_was_taken_back_is_not_in_it(written: Written) -> None:
    change = written.change("1.1", "a.txt", b"one\n", b"two\n")
    written.turn(1, "go", TextBlock(text="ok"))
    written.add(
        ev.ChangesRecorded(turn=1, call_id="", changes=(change,)),
        ev.ChangesUndone(selection=ChangeSelection(), change_ids=("1.1",), outcomes=()),
    )
    assert b"".join(export_text(written.path, "patch", written.blobs)) == b""


def test_a_key_in_a_file_stays_as_it_is(written: Written) -> None:
    change = written.change("1.1", "a.txt", None, b"sk-ant-abcdefghijklmnop\n")
    written.turn(1, "go", TextBlock(text="ok"))
    written.add(ev.ChangesRecorded(turn=1, call_id="", changes=(change,)))
    assert b"+sk-ant-abcdefghijklmnop" in b"".join(export_text(written.path, "patch", written.blobs))


class Tags(HTMLParser):
    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(MarkdownIt("commonmark", {"html": True}).render(markdown))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def text_of(written: Written) -> str:
    return b"".join(export_text(written.path, "md", written.blobs)).decode()


def test_a_renderer_that_lets_html_through_finds_only_ours(hostile: Written) -> None:
    tags = Tags(text_of(hostile)).found
    assert not {"script", "img", "svg", "b", "iframe"} & {tag for tag, _ in tags}
    assert all(
        (href or "").startswith(("http://", "https://")) for tag, a in tags if tag == "a" for href in [a.get("href")]
    )
    assert not any(name.startswith("on") for _, attributes in tags for name in attributes)


def test_every_fold_that_is_opened_is_closed(hostile: Written) -> None:
    text = text_of(hostile)
    assert text.count("<details>") == text.count("\n</details>\n") == 3


def test_what_follows_an_open_fence_is_not_in_it(written: Written) -> None:
    written.turn(1, "go", TextBlock(text="```\nopen"))
    written.turn(2, "second", TextBlock(text="after"))
    assert "<h2>Turn 2" in MarkdownIt().render(text_of(written))


@pytest.mark.parametrize("form", ["md", "html"])
def test_what_the_model_said_a_command_is_for_stands_with_the_call(written: Written, form: ExportForm) -> None:
    call = ToolCall(
        id="c", name="run_terminal_cmd", arguments={"command": "ls", "explanation": "See <b>what</b> is there"}
    )
    written.add(
        ev.PromptSubmitted(turn=1, prompt_id="p-1", text="look"),
        ev.TurnStarted(turn=1, model=MODEL),
        ev.ToolCallStarted(
            turn=1, call=call, title="ls", source="workspace", capabilities=("exec_shell",), is_read_only=False
        ),
    )
    text = b"".join(export_text(written.path, form, written.blobs)).decode()
    assert "See &lt;b&gt;what&lt;/b&gt; is there" in text


@pytest.mark.parametrize("form", ["md", "html"])
def test_the_plan_comes_last_with_what_is_done_ticked(written: Written, form: ExportForm) -> None:
    done = ToolResult(content="", metadata={"todos": [{"id": "1", "content": "read <b>it</b>", "status": "completed"}]})
    written.add(ev.PlanAccepted(text="- [ ] read <b>it</b>\n- [ ] change it\n"))
    written.turn(1, "go", ToolUseBlock(id="c", name="todo_write", arguments={}), results={"c": done})
    written.turn(2, "more", TextBlock(text="the end"))
    text = b"".join(export_text(written.path, form, written.blobs)).decode()
    assert text.index("Turn 2") < text.index("[x] read &lt;b") < text.index("[ ] change it")


def test_a_turn_that_was_cut_off_is_not_said_to_be_interrupted(written: Written) -> None:
    written.add(
        ev.PromptSubmitted(turn=1, prompt_id="p-1", text="look"),
        ev.TurnStarted(turn=1, model=MODEL),
        ev.TurnEnded(turn=1, reason="interrupted", requests=0, duration_s=1.0, is_cut_off=True),
    )
    assert "Turn 1 ended: cut off, because the application ended." in text_of(written)


def test_a_message_in_the_middle_of_a_turn_is_quoted_there(written: Written) -> None:
    written.steered_turn()
    text = text_of(written)
    assert text.count("## Turn") == 1
    assert text.index("I look.") < text.index("> and the tests") < text.index("Both.")


@pytest.mark.parametrize(
    "text",
    ["`<b>` is code", "```html\n<b>\n```", "a < b", "<https://example.org>", "[x](https://example.org)", "[x](#part)"],
)
def test_markdown_that_does_nothing_stays_as_it_is(text: str) -> None:
    assert harmless(text) == text


def test_keys_and_controls_are_not_in_it(hostile: Written) -> None:
    text = text_of(hostile)
    assert KEY not in text
    assert not any(character in text for character in "\x00\x1b\x07\u202e")


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
    written.turn(3, "go", ToolUseBlock(id="c9", name="edit_file", arguments={}))
    written.add(ev.ChangesRecorded(turn=3, call_id="c9", changes=(change,)))
    _, page = page_of(written)
    assert "a.py: the content is no longer on disk" in page.words
