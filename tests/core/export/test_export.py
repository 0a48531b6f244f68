"""An export becomes a file when it is complete, never in place of another, and holds no key that a command printed."""

import json
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.export import ExportForm, export_session, export_text
from desktop_agent.core.protocol.model import TextBlock, ToolResult, ToolUseBlock
from tests.core.export.conftest import KEY, Written


class StoppedError(Exception):
    """What a progress raises to end an export."""


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
