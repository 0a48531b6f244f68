"""Console output cannot control the terminal, and stays the same document for programs."""

import io
import json
import os
import subprocess
from pathlib import Path

import pytest

from desktop_agent.cli.console import Console
from tests.command_line import PROGRAM

STEERING = "".join(map(chr, (*range(0x20), *range(0x7F, 0xA0), 0x202E, 0x2066)))


@pytest.fixture
def out() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8")


def printed(out: io.TextIOWrapper) -> str:
    out.flush()
    assert isinstance(out.buffer, io.BytesIO)
    return out.buffer.getvalue().decode()


@pytest.mark.parametrize("kind", ["result", "line"])
def test_no_character_in_json_steers_a_terminal(out: io.TextIOWrapper, kind: str) -> None:
    document: dict[str, object] = {"te\x9bxt": f"a{STEERING}é日😀"}
    console = Console(is_json=True, out=out)
    if kind == "result":
        console.result(document, "")
    else:
        console.line(document)
    shown = printed(out)
    assert not set(shown) & (set(STEERING) - {"\n"})
    assert "é日😀" in shown
    assert json.loads(shown) == document


def test_what_goes_into_a_pipe_is_utf_8(tmp_path: Path) -> None:
    """On Windows a pipe has the encoding of programs of before Unicode, in which no JSON is."""
    (tmp_path / "größe.txt").write_text("→ 😀", encoding="utf-8")
    call = [*PROGRAM, "tools", "call", "read_file", "-", "--json", "--workspace", str(tmp_path)]
    asked = json.dumps({"path": "größe.txt"}, ensure_ascii=False).encode()
    answer = subprocess.run(call, input=asked, capture_output=True, check=True, env=os.environ)  # noqa: TID251 - to its end
    document = json.loads(answer.stdout.decode("utf-8"))
    assert (document["metadata"]["path"], document["content"]) == ("größe.txt", "→ 😀")
