"""Tool calls that models write as text are recognised when unambiguous."""

from typing import Any

import pytest

from desktop_agent.core.protocol.model import JsonObject, StopReason, TextBlock, ToolDefinition, ToolUseBlock, Usage
from desktop_agent.core.providers.provider import Completion
from desktop_agent.core.providers.text_calls import with_text_calls

NULLABLE = {"anyOf": [{"type": "string"}, {"type": "null"}]}
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "line": {"type": "integer"}, "glob": NULLABLE},
}
TOOLS = [ToolDefinition(name=name, description="", input_schema=SCHEMA) for name in ("read_file", "grep")]
HERMES = '<tool_call>\n{"name": "read_file", "arguments": {"path": "a"}}\n</tool_call>'
CODER = "<function=grep>\n<parameter=path>\na\n</parameter>\n</function>"
FENCED = '```json\n{"name": "read_file", "arguments": {"path": "a"}}\n```'


def said(text: str, stop: StopReason = "end_turn", *more: ToolUseBlock) -> Completion:
    return Completion(message_id="", content=(TextBlock(text=text), *more), stop_reason=stop, usage=Usage())


KNOWN: list[tuple[str, str, list[tuple[str, dict[str, Any]]]]] = [
    (HERMES, "", [("read_file", {"path": "a"})]),
    (f"I look.\n\n{HERMES}\n", "I look.", [("read_file", {"path": "a"})]),
    (f"{HERMES}\n{HERMES}", "", [("read_file", {"path": "a"})] * 2),
    (HERMES.removesuffix("\n</tool_call>"), "", [("read_file", {"path": "a"})]),
    (HERMES.replace("arguments", "parameters"), "", [("read_file", {"path": "a"})]),
    (
        "<tool_call>\n<function=grep>\n<parameter=path>\n 12\n</parameter>\n<parameter=line>\n12\n</parameter>\n"
        "</function>\n</tool_call>",
        "",
        [("grep", {"path": " 12", "line": 12})],
    ),
    (f"So:\n{FENCED}\n", "So:", [("read_file", {"path": "a"})]),
    (HERMES.replace('{"path": "a"}', r'"{\"path\": \"a\"}"'), "", [("read_file", {"path": "a"})]),
    (HERMES.replace('{"path": "a"}', "null"), "", [("read_file", {})]),
    (HERMES.replace('"a"', '"a\nb"'), "", [("read_file", {"path": "a\nb"})]),
    (
        '<tool_call>{"id": "1", "type": "function", "function": {"name": "grep", "arguments": {}}}</tool_call>',
        "",
        [("grep", {})],
    ),
    (f"I look.\n{CODER}\n</tool_call>", "I look.", [("grep", {"path": "a"})]),
    (CODER.replace("path", "glob").replace("a\n<", "123\n<"), "", [("grep", {"glob": "123"})]),
    (CODER.replace("path", "glob").replace("a\n<", "null\n<"), "", [("grep", {"glob": None})]),
    (f"{HERMES}\n</tool_call><|im_end|>", "", [("read_file", {"path": "a"})]),
    (f"<tool_call>\n{HERMES}", "", [("read_file", {"path": "a"})]),
    (f"{HERMES.removesuffix('</tool_call>')}{HERMES}", "", [("read_file", {"path": "a"})] * 2),
    (f"<tool_call>\n{FENCED}\n</tool_call>", "", [("read_file", {"path": "a"})]),
    (f"<tool_call>\n{FENCED[8:-4]}\n{FENCED[8:-4]}\n</tool_call>", "", [("read_file", {"path": "a"})] * 2),
    (f"<tool_call>\n{CODER}\n{CODER}\n</tool_call>", "", [("grep", {"path": "a"})] * 2),
    *[
        (CODER.replace("path", "line").replace("a\n<", f"{value}\n<"), "", [("grep", {"line": value})])
        for value in ("NaN", "1e999", r'"\ud800"', "[" * 200 + "]" * 200)
    ],
]


@pytest.mark.parametrize(
    ("text", "before", "calls"),
    KNOWN,
    ids=[
        "Hermes",
        "behind a text",
        "two",
        "without its end",
        "parameters",
        "Qwen Coder",
        "a fenced block",
        "arguments as text",
        "no arguments",
        "a raw line break",
        "as in Chat Completions",
        "Qwen Coder without its beginning",
        "a number where text may stand",
        "null where it may stand",
        "an end too many",
        "a beginning too many",
        "two with one end",
        "a fenced block in a tag",
        "two in a tag",
        "two of Qwen Coder in a tag",
        "no number",
        "a number that is too large",
        "half a character",
        "nested too deeply",
    ],
)
def test_a_call_in_a_known_spelling_is_a_call(text: str, before: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    read = with_text_calls(said(text), TOOLS)
    assert read.text == before
    found = [block for block in read.content if isinstance(block, ToolUseBlock)]
    assert [(call.name, call.arguments) for call in found] == calls
    assert (read.stop_reason, read.mended) == ("tool_use", ("calls_in_text",))


@pytest.mark.parametrize(
    "text",
    [
        "No call.",
        HERMES.replace("read_file", "rm_rf"),
        f"It looks like this:\n{HERMES}\nand then the result comes.",
        f"```\n{HERMES}\n```",
        FENCED + "\nThat is how it is done.",
        FENCED.replace("read_file", "unknown"),
        '```json\n{"name": "read_file", "arguments": {"path": "a"}, "note": 1}\n```',
        '<tool_call>\n{"name": "read_file", "arguments": {"path": "a",}}\n</tool_call>',
        "<tool_call>\n<function=grep>\nnothing of the kind\n</function>\n</tool_call>",
        f"{HERMES}\n{HERMES.replace('read_file', 'rm_rf')}",
        "<tool_call>",
        CODER.replace("</function>", "<parameter=path>\nb\n</parameter>\n</function>"),
        HERMES.replace('"arguments"', '"parameters": {}, "arguments"'),
        HERMES.replace('"a"', '"a</tool_call>b"'),
        CODER.replace("\na\n", "\na</parameter>b\n"),
        HERMES * 1_000,
        *[
            start + part * 20_000 + "x"
            for start, part in [
                ("<tool_call>", " "),
                ("<tool_call>}", "\n"),
                ("<function=grep>", "\n"),
                ("<function=grep>", "<parameter=a>"),
                ("```json\n{", "}\n"),
                ("", "```json\n{a}\n"),
            ]
        ],
    ],
    ids=[
        "no call",
        "a tool that is not offered",
        "an example with more text behind it",
        "in a block of code",
        "a fenced block in the middle",
        "a fenced call of a tool that is not offered",
        "a fenced object with more in it",
        "JSON that is broken",
        "a function without parameters but with text",
        "two of which one is not offered",
        "an opening tag alone",
        "a parameter that is given twice",
        "arguments that are given twice",
        "an end in the arguments",
        "an end in a parameter",
        "too many",
        *[f"what a model repeats for ever, {number}" for number in range(6)],
    ],
)
def test_what_may_be_something_else_stays_text(text: str) -> None:
    completion = said(text)
    assert with_text_calls(completion, TOOLS) == completion


def test_a_text_beside_a_call_or_in_an_answer_that_was_cut_stays_text() -> None:
    for completion in (
        said(HERMES, "max_tokens"),
        said(HERMES, "tool_use", ToolUseBlock(id="1", name="grep", arguments={})),
    ):
        assert with_text_calls(completion, TOOLS) == completion
