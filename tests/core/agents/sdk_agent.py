"""An agent by the protocol's Python SDK, as its example: it asks, edits a file of its session's folder, and ends."""

import asyncio
from pathlib import Path
from typing import Any

from acp import (
    PROTOCOL_VERSION,
    run_agent,
    start_edit_tool_call,
    tool_diff_content,
    update_agent_message_text,
    update_tool_call,
)
from acp.schema import (
    AgentCapabilities,
    Implementation,
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    ToolCallUpdate,
)


class ExampleAgent:
    def __init__(self) -> None:
        self._client: Any = None
        self._folder = Path()

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        info = Implementation(name="example", title="Example", version="1")
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION, agent_capabilities=AgentCapabilities(), agent_info=info
        )

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        self._folder = Path(cwd)
        return NewSessionResponse(session_id="example-1")

    async def cancel(self, session_id: str, **_: Any) -> None: ...

    async def prompt(self, prompt: Any, session_id: str, **_: Any) -> PromptResponse:
        path = self._folder / "poem.txt"
        old = path.read_text()
        new = old.replace("line 2\n", "LINE 2\n").replace("line 39\n", "LINE 39\n")

        async def tell(update: Any) -> None:
            await self._client.session_update(session_id=session_id, update=update)

        await tell(update_agent_message_text(f"You said: {prompt[-1].text}"))
        await tell(start_edit_tool_call("c1", "Edit the poem", str(path), new))
        options = [
            PermissionOption(option_id="allow", name="Allow", kind="allow_once"),
            PermissionOption(option_id="reject", name="Reject", kind="reject_once"),
        ]
        call = ToolCallUpdate(tool_call_id="c1", content=[tool_diff_content(str(path), new, old)])
        answer = await self._client.request_permission(session_id=session_id, tool_call=call, options=options)
        is_allowed = answer.outcome.outcome == "selected" and answer.outcome.option_id == "allow"
        if is_allowed:
            path.write_text(new)
        await tell(update_tool_call("c1", status="completed" if is_allowed else "failed"))
        return PromptResponse(stop_reason="end_turn")


if __name__ == "__main__":
    asyncio.run(run_agent(ExampleAgent()))  # noqa: TID251 - a program  # pyright: ignore[reportArgumentType] - it needs no other method
