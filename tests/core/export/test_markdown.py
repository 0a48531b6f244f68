"""The Markdown export reads as it was said, and renders to nothing active."""

from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from desktop_agent.core.export import ExportForm, export_text
from desktop_agent.core.export.markdown import harmless
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import TextBlock, ToolCall
from tests.core.export.conftest import KEY, MODEL, Written


class Tags(HTMLParser):
    """The tags of a rendered document, as a renderer that lets HTML through shows them."""

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


def test_a_turn_that_was_cut_off_is_not_said_to_be_interrupted(written: Written) -> None:
    written.add(
        ev.PromptSubmitted(turn=1, prompt_id="p-1", text="look"),
        ev.TurnStarted(turn=1, model=MODEL),
        ev.TurnEnded(turn=1, reason="interrupted", requests=0, duration_s=1.0, is_cut_off=True),
    )
    assert "Turn 1 ended: cut off, because the application ended." in text_of(written)


def test_a_message_in_the_middle_of_a_turn_is_quoted_there(written: Written) -> None:
    written.add(
        ev.PromptSubmitted(turn=1, prompt_id="p-1", text="look"),
        ev.TurnStarted(turn=1, model=MODEL),
        ev.MessageDone(
            turn=1, message_id="m", model=MODEL, content=(TextBlock(text="I look."),), stop_reason="max_tokens"
        ),
        ev.Steered(turn=1, prompt_id="p-2", text="and the tests"),
        ev.MessageDone(turn=1, message_id="n", model=MODEL, content=(TextBlock(text="Both."),), stop_reason="end_turn"),
        ev.TurnEnded(turn=1, reason="completed", requests=2, duration_s=1.0),
    )
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
