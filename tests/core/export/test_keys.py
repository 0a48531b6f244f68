"""A key that a command printed is in no export, however the result that holds it is encoded."""

import json

import pytest

from desktop_agent.core.export import ExportForm, export_text
from desktop_agent.core.protocol.model import TextBlock, ToolResult, ToolUseBlock
from tests.core.export.conftest import KEY, Written


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
