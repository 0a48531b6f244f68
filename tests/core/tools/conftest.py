import asyncio
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.jobs import Jobs
from desktop_agent.core.policy.boundary import Boundary
from desktop_agent.core.protocol.model import TodoItem, ToolResult
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.file_writes import write_state
from desktop_agent.core.system.processes.runner import ProcessRunner
from desktop_agent.core.tools.builtin.run_terminal_cmd import RunTerminalCmd
from desktop_agent.core.tools.execution.confiner import SandboxProbe
from desktop_agent.core.tools.tool import DIGEST_KEY, EditPlan, EditTool, ReadLog, ReadTool, ToolContext
from tests.harness import Ground


@dataclass
class Workspace:
    root: Path
    context: ToolContext
    shown: list[str] = field(default_factory=list[str])
    blobs: Blobs = field(kw_only=True)
    todos: list[TodoItem] = field(default_factory=list[TodoItem], kw_only=True)

    def write(self, path: str, content: str | bytes = "") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def bytes_of(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    async def call(self, tool: ReadTool[Any] | RunTerminalCmd, **arguments: object) -> ToolResult:
        result = await tool.run(tool.parse(arguments), self.context)
        path, digest = result.metadata.get("path"), result.metadata.get(DIGEST_KEY)
        if isinstance(path, str) and isinstance(digest, str):
            self.context.reads.note(path, digest)
        return result

    async def answer(self, tool: ReadTool[Any] | RunTerminalCmd, **arguments: object) -> Any:
        return json.loads((await self.call(tool, **arguments)).content)

    def plan(self, tool: EditTool[Any], **arguments: object) -> EditPlan:
        return tool.plan(tool.parse(arguments), self.context)

    def apply(self, tool: EditTool[Any], **arguments: object) -> dict[str, Any]:
        plan = self.plan(tool, **arguments)
        for write in plan.writes:
            write_state(self.root / write.path, write.after)
            self.context.reads.note(write.path, write.after.digest if write.after is not None else None)
        return json.loads(plan.content)

    def everything(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in self.root.rglob("*") if path.is_file()}

    def refused(self, tool: EditTool[Any], **arguments: object) -> ToolError:
        """Return the refusal of an edit, and check that no file changed."""
        before = self.everything()
        with pytest.raises(ToolError) as caught:
            self.apply(tool, **arguments)
        assert self.everything() == before
        return caught.value


@asynccontextmanager
async def workspace(folder: Path) -> AsyncGenerator[Workspace]:
    root = folder / "work"
    await asyncio.to_thread(root.mkdir)
    clock = SystemClock()
    processes = ProcessRunner(clock, grace_s=0.3)
    jobs = Jobs(processes, clock, folder=folder / "jobs")
    blobs = Blobs(folder / "blobs")
    shown: list[str] = []
    todos: list[TodoItem] = []
    context = ToolContext(
        call_id="call-1",
        boundary=await asyncio.to_thread(Boundary, root),
        reads=ReadLog(),
        processes=processes,
        jobs=jobs,
        environ={name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        spool_folder=folder / "spool",
        emit_output=shown.append,
        todos=lambda: tuple(todos),
        keep=blobs.put_ref,
    )
    yield Workspace(root, context, shown, blobs=blobs, todos=todos)
    await jobs.aclose()
    await processes.aclose()


@pytest.fixture
async def work(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with workspace(tmp_path) as work:
        yield work


@pytest.fixture
async def walled(ground: Ground) -> Ground:
    """A ground where commands run in this machine's sandbox; skips where there is none."""
    ground.probe = SandboxProbe({"PATH": "/usr/local/bin:/usr/bin:/bin"})
    if (await ground.probe.search()).sandbox is None:
        pytest.skip("this machine has no sandbox")
    return ground
