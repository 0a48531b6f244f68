"""A hostile client: whatever it sends is answered, nothing is written unasked, and the agent ends with its input."""

import asyncio
import json
import os
import resource
import select
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from desktop_agent.acp.agent import MOST_WAITING_BYTES, Output
from desktop_agent.core.providers.scripted import Say
from desktop_agent.headless.input_lines import lines_of
from tests.acp.editor import RefusedError, contents, demo_in, editing, program_with_demo
from tests.harness import PATIENCE_S, Ground

POEM = "".join(f"line {number}\n" for number in range(1, 41))

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_TEXTS = st.sampled_from(
    ["", "\0", "\ud800", "../..", "/", "/proc/self", "/\ud800", "/a\0b", "x" * 5_000, "-32000", "$(touch owned)"]
)

SESSION = {"sessionId": "SESSION"}
VALID: dict[str, dict[str, Any]] = {
    "initialize": {"protocolVersion": 1, "clientCapabilities": {}},
    "authenticate": {"methodId": "terminal"},
    "session/new": {"cwd": "/nowhere", "mcpServers": []},
    "session/load": SESSION | {"cwd": "/nowhere", "mcpServers": []},
    "session/resume": SESSION | {"cwd": "/nowhere", "mcpServers": []},
    "session/list": {"cwd": "/nowhere", "cursor": "1"},
    "session/close": {"sessionId": "20200101-000000-abcdef"},
    "session/delete": {"sessionId": "20200101-000000-abcdef"},
    "session/prompt": SESSION | {"prompt": [{"type": "text", "text": "hello"}]},
    "session/set_mode": SESSION | {"modeId": "never"},
    "session/set_config_option": SESSION | {"configId": "sandbox", "value": "none"},
    "session/cancel": SESSION,
    "$/cancel_request": {"requestId": 1},
    "_desktop-agent/changes": SESSION,
    "_desktop-agent/undo": SESSION | {"selection": {"path": "poem.txt"}},
    "_desktop-agent/redo": SESSION | {"selection": {"path": "poem.txt"}},
}

Draw = Callable[[st.SearchStrategy[Any]], Any]


def _line(method: object, params: object, number: object = 7, **more: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params} | more).encode()


def _without(params: dict[str, Any], draw: Draw) -> dict[str, Any]:
    gone = draw(st.sampled_from(sorted(params)))
    return {name: value for name, value in params.items() if name != gone}


def _with(params: dict[str, Any], values: st.SearchStrategy[Any], draw: Draw) -> dict[str, Any]:
    return params | {draw(st.sampled_from(sorted(params))): draw(values)}


def _evil(value: Any, text: str) -> Any:
    """Return the value with `text` for all texts but those that say which session or kind it is."""
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {name: inner if name in ("sessionId", "type") else _evil(inner, text) for name, inner in items}
    return [_evil(inner, text) for inner in cast("list[Any]", value)] if isinstance(value, list) else text


def _nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {"a": [value]}
    return value


WAYS: dict[str, Callable[[str, dict[str, Any], Draw], bytes]] = {
    "no parameters": lambda method, _params, _draw: json.dumps({"jsonrpc": "2.0", "id": 7, "method": method}).encode(),
    "other parameters": lambda method, _params, draw: _line(method, draw(_JSON)),
    "one missing": lambda method, params, draw: _line(method, _without(params, draw)),
    "one of another type": lambda method, params, draw: _line(method, _with(params, _JSON, draw)),
    "one with an evil text": lambda method, params, draw: _line(method, _with(params, _TEXTS, draw)),
    "evil in every text": lambda method, params, draw: _line(method, _evil(params, draw(_TEXTS))),
    "one deep": lambda method, params, draw: _line(method, _with(params, st.just(_nested(150)), draw)),
    "deeper than can be read": lambda method, _params, _draw: _line(method, "DEEP").replace(
        b'"DEEP"', b"[" * 100_000 + b"]" * 100_000
    ),
    "evil in the middle": lambda method, params, draw: _line(
        method, {name: [value, {"": draw(_TEXTS)}] for name, value in params.items()}
    ),
    "unknown fields": lambda method, params, draw: _line(method, params | {draw(st.text(max_size=9)): draw(_JSON)}),
    "another id": lambda method, params, draw: _line(method, params, draw(_JSON)),
    "another version": lambda method, params, draw: _line(method, params, jsonrpc=draw(_JSON)),
    "a result as well": lambda method, params, draw: _line(method, params, result=draw(_JSON)),
    "in a batch": lambda method, params, _draw: b"[" + _line(method, params) + b"]",
    "cut": lambda method, params, draw: (line := _line(method, params))[
        : draw(st.integers(min_value=0, max_value=len(line) - 1))
    ],
    "not UTF-8": lambda method, params, _draw: _line(method, params).replace(b'"', b"\xff\xfe", 3),
}
KINDS = [(method, way) for method in VALID for way in WAYS]


def test_there_are_enough_kinds_of_bad_messages() -> None:
    assert len(KINDS) >= 200


def ground_with_poem(folder: Path) -> Ground:
    ground = Ground(folder)
    ground.write("poem.txt", POEM)
    return ground


@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("method", VALID)
@given(data=st.data(), order=st.permutations(list(WAYS)), more=st.lists(st.sampled_from(KINDS), max_size=8))
async def test_every_kind_of_bad_message_is_survived(
    tmp_path: Path, method: str, data: st.DataObject, order: list[str], more: list[tuple[str, str]]
) -> None:
    ground = ground_with_poem(tmp_path / os.urandom(4).hex())
    async with editing(ground, lambda _request: [Say("Still here.")]) as (editor, _):
        session = await editor.start(ground.workspace)
        for name, way in (*((method, way) for way in order), *more):
            line = WAYS[way](name, VALID[name], data.draw).replace(b"SESSION", session.encode())
            editor.writer.write(line.replace(b"\n", b" ") + b"\n")
        for number in range(-5, 50):  # nothing of this was asked
            editor.write({"id": number, "result": data.draw(_JSON), "error": data.draw(_JSON)})
        editor.numbers = count(2**40)  # theirs are small
        session = await editor.start(ground.workspace)
        assert await editor.prompt(session, "go") == "end_turn"
    assert ground.read("poem.txt") == POEM
    assert [one.name for one in ground.workspace.iterdir()] == ["poem.txt"]
    assert "The request failed; the log says why." not in editor.refusals


async def test_a_flood_is_taken_in_bounded_memory(tmp_path: Path) -> None:
    workspace, environ = await asyncio.to_thread(demo_in, tmp_path)
    before = contents(workspace)
    async with program_with_demo(environ) as (program, editor):
        session = await editor.start(workspace)
        resource.prlimit(program.pid, resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
        editor.is_judged = False
        for line in _flood(session):
            editor.writer.write(line + b"\n")
            await editor.writer.drain()
        editor.numbers = count(2**40)
        assert (await editor.ask("session/list"))["sessions"]
        status = await asyncio.to_thread(Path(f"/proc/{program.pid}/status").read_text)
    assert program.returncode == 0
    (peak,) = (int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))
    assert peak < _MOST_BYTES // 2
    assert contents(workspace) == before


_MOST_BYTES = 2**31


def _flood(session: str) -> list[bytes]:
    """Return 300 MB: long lines, lines that are too long, and storms of requests, cancellations and answers."""
    picture = {"type": "image", "mimeType": "image/png", "data": "A" * 15_000_000}
    prompt = {"sessionId": session, "prompt": [picture]}
    storm = [_line("session/load", {"sessionId": "x" * 1_000, "cwd": "/", "mcpServers": []}, n) for n in range(1_000)]
    cancels = [_line("session/cancel", {"sessionId": session}), _line("$/cancel_request", {"requestId": "p1"})]
    return [
        *(_line("session/prompt", prompt, f"p{number}") for number in range(4)),
        *(b"x" * 40_000_000 for _ in range(2)),
        b"[" + b"{}," * 4_000_000 + b"{}]",
        *storm * 5,
        *cancels * 10_000,
        *([b'{"jsonrpc":"2.0","id":1,"result":' + b'"' + b"y" * 10_000_000 + b'"}'] * 10),
        *([b"{}"] * 20_000),
    ]


@pytest.mark.parametrize("moment", ["agent_thought_chunk", "tool_call", "session/request_permission"])
async def test_an_input_that_ends_in_the_middle_of_a_turn_ends_the_agent(tmp_path: Path, moment: str) -> None:
    async def never(_params: dict[str, Any]) -> dict[str, Any]:
        return await asyncio.get_running_loop().create_future()

    workspace, environ = await asyncio.to_thread(demo_in, tmp_path)
    before = contents(workspace)
    async with program_with_demo(environ) as (program, editor):
        editor.answers["session/request_permission"] = never
        session = await editor.start(workspace)
        _, turn = editor.send("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]})
        await editor.until(lambda: editor.seen(moment) or any(method == moment for method, _ in editor.asked))
        editor.writer.close()
        async with asyncio.timeout(PATIENCE_S):
            await program.wait()
        editor.drop()
        with pytest.raises(RefusedError, match="cancelled"):
            await turn
    assert program.returncode == 0
    assert contents(workspace) == before


def test_an_editor_that_stops_reading_gets_whole_lines_and_then_the_end() -> None:
    reading, writing = os.pipe()
    output, line = Output(os.fdopen(writing, "wb")), "x" * 2**20
    for _ in range(2 * MOST_WAITING_BYTES // len(line)):
        output.send(line)
    with os.fdopen(reading, "rb") as file:
        lines = file.read().splitlines(keepends=True)
    assert set(lines) == {line.encode() + b"\n"}
    assert len(lines) <= MOST_WAITING_BYTES // len(line) + 2, "no more is kept for it"


async def test_an_input_that_is_not_taken_has_its_writer_wait() -> None:
    reading, writing = os.pipe()
    lines = lines_of(reading)
    os.write(writing, b"first\n")
    assert await anext(lines) == b"first"
    written, most = await asyncio.to_thread(_fill, writing), 16 * 2**20
    assert written < most
    os.close(writing)
    await lines.aclose()
    os.close(reading)


def _fill(writing: int) -> int:
    """Write as long as the other side takes it, and return how many bytes it took."""
    os.set_blocking(writing, False)
    written, chunk = 0, b"line\n" * 10_000
    while written < 32 * 2**20 and select.select([], [writing], [], 0.5)[1]:
        written += os.write(writing, chunk)
    return written


async def test_sessions_that_are_open_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("desktop_agent.acp.agent.MOST_OPEN", 2)
    async with editing(tmp_path) as (editor, ground):
        first, _ = await editor.start(ground.workspace), await editor.start(ground.workspace)
        with pytest.raises(RefusedError, match="2 sessions are open"):
            await editor.start(ground.workspace)
        await editor.ask("session/close", sessionId=first)
        await editor.start(ground.workspace)
