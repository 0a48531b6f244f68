"""Console output cannot control the terminal, and stays the same document for programs."""

import io
import json

import pytest

from desktop_agent.cli.console import Console

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
