"""MCP servers in what a receiver gets: their starts, their failures, and calls of their tools. On real processes."""

from pathlib import Path

import pytest

from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.settings.live_settings import LiveSettings
from tests.core.mcp.conftest import PROGRAM
from tests.core.tools.servers.conftest import PatientClock
from tests.harness import Ground
from tests.servers.otlp_receiver import OtlpReceiver


@pytest.fixture
def ground(tmp_path: Path, receiver: OtlpReceiver) -> Ground:
    """Settings with a receiver, a server that works and one that does not."""
    ground = Ground(tmp_path)
    ground.clock = PatientClock()  # a server's time without a call must pass as it does
    path = ground.paths.config / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(
        f'[telemetry]\notlp_address = "{receiver.url}"\n'
        f'[[mcp.definitions]]\nname = "program"\ncommand = "python3"\nargs = ["-S", "{PROGRAM}"]\n'
        '[[mcp.definitions]]\nname = "gone"\ncommand = "no-such-program"\n'
    )
    ground.live = LiveSettings.load(path, {})
    return ground


async def test_starts_calls_and_failures_of_servers_arrive(ground: Ground, receiver: OtlpReceiver) -> None:
    calls = [[Call("program__echo", {"text": "hello"})], [Call("program__die")], [Say("ok")]]
    async with ground.session(calls) as s:
        await s.prompt("go", answers=2)
    starts = {
        str(span.attributes["desktop_agent.mcp.server"]): span for span in receiver.spans if span.name == "initialize"
    }
    assert starts.keys() == {"program", "gone"}
    assert starts["gone"].is_error
    assert starts["program"].attributes["mcp.protocol.version"]
    called = next(span for span in receiver.spans if span.name == "execute_tool program__echo")
    assert called.attributes["mcp.method.name"] == "tools/call"
    assert called.attributes["gen_ai.tool.type"] == "extension"
    assert receiver.value("mcp_fetches_total", **{"mcp.method.name": "tools/list"}) == 1
    assert receiver.value("mcp_failures_total", **{"mcp.method.name": "tools/call"}) == 1
    assert receiver.value("mcp_failures_total", **{"mcp.method.name": "initialize"}) >= 1
    assert receiver.value("tool_errors_total", tool="program__die") == 1
