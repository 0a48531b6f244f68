"""Servers in the sandbox, and a home with secrets beside the open folder."""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.mcp.confining import ServerConfiner
from desktop_agent.core.mcp.connection import Connection, ServerPool
from desktop_agent.core.mcp.definition import Program, ServerDefinition, ServerSandbox
from desktop_agent.core.mcp.server_status import TextPart
from desktop_agent.core.sandbox.find import Sandbox, SandboxSearch
from desktop_agent.core.tools.secret_files import secret_files, secrets_beside_programs
from tests.sandboxes import sandbox_named

ACTING = Path(__file__).parent.with_name("acting.py")


@dataclass(frozen=True)
class Ground:
    """Folders like a user's, outside of `/tmp`: a sandbox may show another `/tmp`."""

    home: Path
    workspace: Path
    outside: Path
    cache: Path


@pytest.fixture
def ground(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    base = Path(tempfile.mkdtemp(prefix="confined-servers-", dir="/var/tmp"))
    home = base / "home"
    ground = Ground(home=home, workspace=home / "app", outside=base / "outside", cache=base / "cache")
    for folder in (ground.workspace / "src", ground.outside, home / ".ssh", home / "notes"):
        folder.mkdir(parents=True)
    shutil.copy(ACTING, base)  # where the sandbox shows it: the tests themselves may lie in `/tmp`
    (home / ".ssh" / "id_test").write_text("SECRET-KEY")
    (home / "diary.txt").write_text("SECRET-DIARY")
    (home / "notes" / "one.txt").write_text("a note")
    (ground.workspace / ".env").write_text("TOKEN=SECRET-TOKEN")
    (ground.workspace / "src" / "a.txt").write_text("a\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("DESKTOP_AGENT_HOME", str(base / "application"))
    yield ground
    shutil.rmtree(base)


@pytest.fixture
def sandbox(ground: Ground) -> Sandbox:
    return sandbox_named("bubblewrap", os.environ)


async def to_this_machine(host: str, port: int) -> Sequence[str]:
    """Resolve `.test` names to loopback or metadata addresses; the tests connect to nothing else."""
    return {"here.test": ["127.0.0.1"], "cloud.test": ["169.254.169.254"]}.get(host, [host])


@dataclass
class Servers:
    pool: ServerPool
    ground: Ground

    def connect(
        self,
        sandbox: ServerSandbox,
        *,
        command: Sequence[str] = (),
        may_start: Callable[[], bool] | None = None,
        **variables: str,
    ) -> Connection:
        acting = self.ground.outside.with_name(ACTING.name)
        program, *arguments = command or (os.path.realpath(sys.executable), "-S", str(acting))
        reached_by = Program(command=program, args=tuple(arguments), env=variables, sandbox=sandbox)
        definition = ServerDefinition(name="acting", reached_by=reached_by, may_start=may_start)
        return self.pool.lease(definition, self.ground.workspace).connection


async def said_by(connection: Connection, code: str) -> str:
    reply = await connection.call("act", {"code": code})
    return "".join(part.text for part in reply.parts if isinstance(part, TextPart))


def confiner_for(
    sandbox: Sandbox | None, cache: Path, *, search: SandboxSearch | None = None, **environ: str
) -> ServerConfiner:
    async def found(_: Path) -> SandboxSearch:
        return search or SandboxSearch(sandbox=sandbox, reports=())

    return ServerConfiner(
        search=found,
        cache=cache,
        environ={**os.environ, **environ},
        secrets_in=secret_files,
        secrets_beside=secrets_beside_programs,
        resolve=to_this_machine,
    )


OpenPool = Callable[[ServerConfiner | None], ServerPool]


@pytest.fixture
async def open_pool(ground: Ground) -> AsyncIterator[OpenPool]:
    pools: list[ServerPool] = []

    def open_pool(confiner: ServerConfiner | None) -> ServerPool:
        pools.append(ServerPool(SystemClock(), dict(os.environ), ground.cache / "logs", confiner=confiner))
        return pools[-1]

    yield open_pool
    await asyncio.gather(*(pool.aclose() for pool in pools))


@pytest.fixture
def servers(open_pool: OpenPool, sandbox: Sandbox, ground: Ground) -> Servers:
    return Servers(open_pool(confiner_for(sandbox, ground.cache / "mcp")), ground)
