"""A hostile agent: whatever it sends, the turn ends in words, nothing is written unasked, and memory is bounded."""

import asyncio
import json
import os
import resource
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Denied, ModelRef
from desktop_agent.core.system.processes.shell import joined_words
from tests.acp.test_hostile_client import WAYS
from tests.harness import Ground, Open

PROGRAM = Path(__file__).with_name("hostile_agent.py")
POEM = "a poem\n"
TEXT = {"type": "text", "text": "Hello."}
CALL = {
    "toolCallId": "c1", "title": "Edit", "kind": "edit", "status": "in_progress", "locations": [{"path": "poem.txt"}],
    "rawInput": {"command": "touch owned", "cwd": "/", "description": "x"},
    "_meta": {"terminal_exit": {"exit_code": 1}},
    "content": [{"type": "diff", "path": "poem.txt", "oldText": "a poem\n", "newText": "owned\n"}],
}  # fmt: skip
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "n", "name": "N", "kind": "reject_once"},
]
CHOICES: list[dict[str, Any]] = [
    {"id": "mode", "name": "Mode", "category": "mode", "type": "select", "currentValue": "a", "options": [{}]}
]


def updated(update_kind: str, /, **fields: Any) -> dict[str, Any]:
    return {"sessionId": "SESSION", "update": {"sessionUpdate": update_kind, **fields}}


UPDATES = (
    updated("user_message_chunk", content=TEXT),
    updated("agent_message_chunk", content=TEXT, messageId="m1"),
    updated("agent_thought_chunk", content={"type": "resource", "resource": {"uri": "file:///x", "text": "y"}}),
    updated("tool_call", **CALL),
    updated("tool_call", **CALL | {"kind": "execute", "status": "pending"}),
    updated("tool_call_update", **CALL | {"status": "completed"}),
    updated("plan", entries=[{"content": "one", "priority": "high", "status": "pending"}]),
    updated("available_commands_update", availableCommands=[{"name": "x", "description": "y", "input": {"hint": "z"}}]),
    updated("current_mode_update", currentModeId="auto"),
    updated("config_option_update", configOptions=CHOICES),
    updated("session_info_update", title="A title"),
    updated("usage_update", used=1, size=2, cost={"amount": 1.5, "currency": "USD"}),
    updated("notice", severity="error", title="Oh", description="no"),
    updated("compaction_update", compactionId="c", status="failed", error="x"),
)
FORM = {"type": "object", "properties": {"x": {"type": "string", "default": "y"}}, "required": ["x"]}
VARIABLE = {"name": "LANG", "value": "C"}
OF_TERMINALS = ("output", "wait_for_exit", "kill", "release")
ASKED = {"sessionId": "SESSION", "toolCall": CALL, "options": OPTIONS}
SENT: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("session/update", update) for update in UPDATES),
    ("session/request_permission", ASKED),
    ("session/request_permission", ASKED | {"toolCall": CALL | {"kind": "execute"}}),
    ("fs/read_text_file", {"sessionId": "SESSION", "path": "poem.txt", "line": 1, "limit": 2}),
    ("fs/write_text_file", {"sessionId": "SESSION", "path": "poem.txt", "content": "owned"}),
    ("elicitation/create", {"sessionId": "SESSION", "mode": "form", "message": "?", "requestedSchema": FORM}),
    ("elicitation/create", {"sessionId": "SESSION", "mode": "url", "message": "?", "url": "https://a.example"}),
    ("terminal/create", {"sessionId": "SESSION", "command": "touch", "args": ["owned"], "env": [VARIABLE], "cwd": "/"}),
    ("terminal/create", {"sessionId": "SESSION", "command": "touch owned", "cwd": None, "outputByteLimit": 1}),
    *((f"terminal/{method}", {"sessionId": "SESSION", "terminalId": "terminal-1"}) for method in OF_TERMINALS),
)
DRAWS = max(1, settings().max_examples // 250)
"""How often each way to spoil each message is drawn: 8 times by night. Each draw starts an agent."""
NUMBERS = (-1, 2**31, 2**64, 10**400, -(10**30), 1e308, 0)


def test_there_are_enough_kinds_of_bad_messages() -> None:
    assert len(SENT) * len(WAYS) >= 200


@asynccontextmanager
async def hostile(ground: Ground) -> AsyncGenerator[Callable[[bytes], Any]]:
    """Yield what has the agent of a session print these lines in a turn, and return its end."""
    ground.write("poem.txt", POEM)
    lines = ground.workspace.parent / "lines"
    model = ModelRef(provider="acp", model=joined_words((sys.executable, str(PROGRAM))))
    async with ground.session([], model=model, approval="always") as opened:

        def deny(event: ev.Event) -> None:
            if isinstance(event, ev.ApprovalRequested):
                opened.submit(ops.AnswerApproval(call_id=event.request.call_id, decision=Denied()))

        opened.rx.at_once = deny

        async def printed(content: bytes) -> ev.TurnEnded:
            lines.write_bytes(content)
            return await opened.prompt(str(lines))

        yield printed
        check(ground, opened)


def check(ground: Ground, opened: Open) -> None:
    assert {end.reason for end in opened.rx.all(ev.TurnEnded)} <= {"completed", "provider_error", "approval_required"}
    assert {path.name: path.read_text() for path in ground.workspace.iterdir()} == {"poem.txt": POEM}
    started = {event.call.id for event in opened.rx.all(ev.ToolCallStarted)}
    assert {event.call_id for event in opened.rx.all(ev.ToolCallFinished)} == started, "each call ends exactly once"


@settings(max_examples=DRAWS, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("at", range(len(SENT)))
@given(data=st.data(), order=st.permutations(list(WAYS)))
async def test_every_kind_of_bad_message_is_survived(
    tmp_path: Path, expected_logs: list[str], at: int, data: st.DataObject, order: list[str]
) -> None:
    expected_logs.append("A notification was ignored")
    method, params = SENT[at]
    async with hostile(Ground(tmp_path / os.urandom(4).hex())) as printed:
        lines = [WAYS[way](method, params, data.draw) for way in order]
        lines += [json.dumps({"jsonrpc": "2.0", "id": number, "result": 1}).encode() for number in range(-3, 9)]
        await printed(b"\n".join(line.replace(b"\n", b" ") for line in lines) + b"\n")
        await printed(b"")


@pytest.mark.parametrize("asked", [one for one in SENT if one[0].endswith(("/create", "request_permission"))])
async def test_a_turn_can_end_at_any_moment_after_something_was_asked(
    tmp_path: Path, asked: tuple[str, dict[str, Any]]
) -> None:
    async with hostile(Ground(tmp_path)) as printed:
        for number in range(100):
            request = {"jsonrpc": "2.0", "id": number, "method": asked[0], "params": asked[1]}
            await printed(json.dumps(request).encode() + b"\n")


@pytest.mark.parametrize("number", NUMBERS, ids=str)
async def test_every_number_is_survived(tmp_path: Path, expected_logs: list[str], number: float) -> None:
    expected_logs.append("A notification was ignored")
    updates = (
        updated("usage_update", used=number, size=number, cost={"amount": number, "currency": "USD"}),
        updated("usage_update", used=1, size=number),
        updated("tool_call", **CALL | {"locations": [{"path": "poem.txt", "line": number}], "rawInput": {"x": number}}),
        updated("tool_call_update", toolCallId="c1", rawOutput=number, _meta={"terminal_exit": {"exit_code": number}}),
    )
    async with hostile(Ground(tmp_path)) as printed:
        await printed(b"".join(notice(update) for update in updates))
        await printed(b"")


def notice(params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}).encode() + b"\n"


def asked(number: object, params: dict[str, Any]) -> bytes:
    message = {"jsonrpc": "2.0", "id": number, "method": "session/request_permission", "params": params}
    return json.dumps(message).encode() + b"\n"


async def test_a_storm_of_questions_is_refused_in_words_and_asked_once(tmp_path: Path) -> None:
    same = b"".join(asked(number, ASKED) for number in range(50))
    others = b"".join(
        asked(number, ASKED | {"toolCall": CALL | {"toolCallId": f"c{number}"}}) for number in range(50, 400)
    )
    async with hostile(Ground(tmp_path)) as printed:
        await printed(same + others + asked(7, ASKED | {"sessionId": "other"}))
        await printed(b"")


async def test_calls_without_an_end_end_the_turn_in_words(tmp_path: Path) -> None:
    calls = b"".join(notice(updated("tool_call", **CALL | {"toolCallId": f"c{number}"})) for number in range(300))
    async with hostile(Ground(tmp_path)) as printed:
        assert (await printed(calls)).reason == "provider_error"
        assert (await printed(b"")).reason == "completed"


async def test_a_flood_is_taken_in_bounded_memory(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.core.agents.test_hostile_agent", str(tmp_path)]
    child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await child.communicate()
    assert child.returncode == 0
    reasons = json.loads(output)
    assert len(reasons) == len(FLOODS) + 1
    assert reasons[-1] == "completed", "the session goes on"


MOST_BYTES = 2**31
FLOODS: tuple[Callable[[], bytes], ...] = (
    lambda: notice(updated("agent_message_chunk", content=TEXT)) * 10_000,
    lambda: notice(updated("agent_message_chunk", content=TEXT | {"text": "x" * 4_000_000})) * 30,
    lambda: notice(updated("tool_call", **CALL | {"rawInput": {"x": "y" * 15_000_000}})) * 4,
    lambda: notice(updated("tool_call", **CALL | {"rawInput": "DEEP"})).replace(b'"DEEP"', b"[" * 900 + b"]" * 900),
    lambda: notice(updated("tool_call", **CALL | {"rawInput": "WIDE"})).replace(b'"WIDE"', b"[%s1]" % (b"1," * 10**6)),
    lambda: b"".join(
        notice(updated("tool_call_update", toolCallId="c1", _meta={"terminal_output_delta": {"data": "z" * 99_999}}))
        for _ in range(500)
    ),
    lambda: b"x" * 40_000_000,
    lambda: notice(updated("agent_thought_chunk", content=TEXT | {"text": "x" * 4_000_000})) * 80,
)  # fmt: skip


async def flood(folder: Path) -> None:
    reasons: list[str] = []
    async with hostile(Ground(folder)) as printed:
        reasons.append((await printed(b"")).reason)
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        reasons += [(await printed(lines())).reason for lines in FLOODS[:-1]]
        reasons += [(await printed(FLOODS[-1]())).reason, (await printed(b"")).reason]
    print(json.dumps(reasons[1:]))


if __name__ == "__main__":
    asyncio.run(flood(Path(sys.argv[1])))  # noqa: TID251 - a program
