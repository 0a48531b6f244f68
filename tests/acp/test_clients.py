"""Other people's clients drive the agent: the demo's journey from the prompt to the undo."""

import asyncio
import json
import shlex
from pathlib import Path
from typing import Any, cast

import acp
from acp.connection import StreamEvent
from acp.schema import AllowedOutcome, PermissionOption, RequestPermissionResponse, ToolCallStart

from tests.acp.editor import demo_in, judge_conversation
from tests.command_line import PROGRAM
from tests.harness import PATIENCE_S
from tests.npm.programs import npm_program

AGENT = [*PROGRAM, "acp", "--provider", "demo"]


class _SdkEditor:
    """An editor of the protocol's Python SDK. It allows what it is asked."""

    def __init__(self) -> None:
        self.updates: list[object] = []
        self.asked: list[str] = []

    async def request_permission(
        self, options: list[PermissionOption], tool_call: Any, **_: Any
    ) -> RequestPermissionResponse:
        self.asked.append(tool_call.kind)
        outcome = AllowedOutcome(outcome="selected", option_id=options[0].option_id)
        return RequestPermissionResponse(outcome=outcome)

    async def session_update(self, update: object, **_: Any) -> None:
        self.updates.append(update)


async def test_the_protocols_own_sdk_drives_the_journey(tmp_path: Path) -> None:
    workspace, environ = await asyncio.to_thread(demo_in, tmp_path)
    pages, editor, messages = workspace / "pagination" / "pages.py", _SdkEditor(), list[dict[str, Any]]()
    before = pages.read_text()

    def observe(event: StreamEvent) -> None:
        messages.append(event.message)

    client = cast("acp.Client", editor)
    async with acp.spawn_agent_process(client, *AGENT, env=environ, observers=[observe]) as (agent, program):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        made = await agent.new_session(cwd=str(workspace), mcp_servers=[])
        done = await agent.prompt(session_id=made.session_id, prompt=[acp.text_block("go")])
        assert done.stop_reason == "end_turn"
        assert "edit" in editor.asked
        assert pages.read_text() != before
        assert any(isinstance(one, ToolCallStart) for one in editor.updates)
        done = await agent.prompt(session_id=made.session_id, prompt=[acp.text_block("/undo all")])
        assert (done.stop_reason, pages.read_text()) == ("end_turn", before)
    assert program.returncode == 0
    assert judge_conversation(messages)["session/request_permission"] == len(editor.asked)


async def test_acpx_drives_the_journey_and_saves_the_edits_itself(tmp_path: Path) -> None:
    workspace, environ = await asyncio.to_thread(demo_in, tmp_path)
    pages = workspace / "pagination" / "pages.py"
    before = pages.read_text()
    given = [
        "--approve-all",
        "--format",
        "json",
        "--json-strict",
        "--cwd",
        str(workspace),
        "--agent",
        shlex.join(AGENT),
    ]

    async def acpx(*words: str) -> list[dict[str, Any]]:
        piped = asyncio.subprocess.PIPE
        program = await asyncio.create_subprocess_exec(*npm_program("acpx"), *given, *words, stdout=piped, env=environ)
        async with asyncio.timeout(3 * PATIENCE_S):
            out, _ = await program.communicate()
        assert program.returncode == 0
        return [json.loads(line) for line in out.splitlines()]

    await acpx("sessions", "new")
    try:
        messages = await acpx("prompt", "go")
        assert pages.read_text() != before
        messages += await acpx("prompt", "/undo all")
        assert pages.read_text() == before
    finally:
        await acpx("sessions", "close")  # which also ends what keeps the session between prompts
    used = judge_conversation(messages)
    assert used["fs/write_text_file"] == 1
    assert {"session/resume", "session/request_permission", "fs/read_text_file"} <= used.keys()
