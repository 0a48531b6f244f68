"""Other people's clients drive the agent: the demo's journey from the prompt to the undo."""

import asyncio
import json
import os
import shlex
from pathlib import Path
from typing import Any, cast

import acp
from acp.connection import StreamEvent
from acp.schema import AllowedOutcome, PermissionOption, RequestPermissionResponse, ToolCallStart

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, ModelRef
from desktop_agent.core.system.processes.shell import joined_words
from tests.acp.editor import contents, demo_in, judge_conversation, program_with_demo
from tests.command_line import PROGRAM
from tests.harness import PATIENCE_S, Ground
from tests.npm.programs import node, npm_folder, npm_program

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


async def test_the_example_client_of_the_sdk_for_typescript_drives_a_turn(tmp_path: Path) -> None:
    """It starts its agent with `npx`, answers questions from its input, and shows the same text for every file."""
    workspace, environ = await asyncio.to_thread(demo_in, tmp_path)
    example = npm_folder("acpx") / "node_modules" / "@agentclientprotocol" / "sdk" / "dist" / "examples" / "client.js"
    before, made = contents(workspace), workspace / "tests" / "test_edge.py"
    logs = [tmp_path / "from_client", tmp_path / "from_agent"]
    npx = tmp_path / "npx"
    npx.write_text(f"#!/bin/sh\ntee {logs[0]} | {shlex.join(AGENT)} | tee {logs[1]}\n")
    npx.chmod(0o755)
    piped = asyncio.subprocess.PIPE
    program = await asyncio.create_subprocess_exec(
        node(), example, cwd=workspace, stdin=piped, stdout=piped, stderr=piped,
        env=environ | {"PATH": f"{tmp_path}:{environ['PATH']}"},
    )  # fmt: skip
    assert program.stdin is not None
    assert program.stdout is not None
    assert program.stderr is not None
    said = ""
    async with asyncio.timeout(3 * PATIENCE_S):
        while piece := await program.stdout.read(4_096):
            said += piece.decode()
            if said.endswith("Choose an option: "):
                program.stdin.write(b"1\n")
        await program.stderr.read()  # until the agent has ended, too
        await program.wait()
    assert "Agent completed with: end_turn" in said
    assert contents(workspace) == before | {str(made): made.read_bytes(), **_changelog(workspace)}
    client, agent = ([json.loads(line) for line in log.read_bytes().splitlines()] for log in logs)
    used = judge_conversation(_asked(client) + _answered(agent)) + judge_conversation(_asked(agent) + _answered(client))
    assert {"session/prompt", "session/request_permission", "fs/read_text_file"} <= used.keys()
    async with program_with_demo(environ) as (_, editor):
        await editor.ask("initialize", protocolVersion=1, clientCapabilities={})
        (listed,) = (await editor.ask("session/list"))["sessions"]
        await editor.ask("session/load", sessionId=listed["sessionId"], cwd=str(workspace), mcpServers=[])
        await editor.ask("_desktop-agent/undo", sessionId=listed["sessionId"])
    assert contents(workspace) == before


def _changelog(workspace: Path) -> dict[str, bytes]:
    path = workspace / "CHANGELOG.md"
    return {str(path): path.read_bytes()}


def _asked(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in messages if "method" in one]


def _answered(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in messages if "method" not in one]


async def test_our_own_client_drives_it_and_undoes_what_it_changed(tmp_path: Path) -> None:
    workspace, environ = await asyncio.to_thread(demo_in, tmp_path)
    pages, ground = workspace / "pagination" / "pages.py", Ground(tmp_path / "client")
    before, ground.workspace = pages.read_text(), workspace
    variables = [f"{name}={value}" for name, value in environ.items() if os.environ.get(name) != value]
    model = ModelRef(provider="acp", model=joined_words(("env", *variables, *AGENT)))
    async with ground.session([], model=model, approval="on_request", sandbox="none") as opened:

        def allow(event: ev.Event) -> None:
            if isinstance(event, ev.ApprovalRequested):
                opened.submit(ops.AnswerApproval(call_id=event.request.call_id, decision=Allowed()))

        opened.rx.at_once = allow
        assert (await opened.prompt("go")).reason == "completed"
        after = pages.read_text()
        assert after != before
        ended = {call.call_id for call in opened.rx.all(ev.ToolCallFinished)}
        assert ended == {started.call.id for started in opened.rx.all(ev.ToolCallStarted)}
        await opened.undo()
        assert pages.read_text() == before
        await opened.redo_step()
        assert pages.read_text() == after
