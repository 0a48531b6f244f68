"""Server results that the SDK's types reject are left out and named, in both eras; the rest is used.

Each line of `odd_servers.jsonl` has a server's raw results, and what to keep and name of them.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.methods import parse_server_result

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.definition import Program, ServerDefinition
from desktop_agent.core.mcp.sdk.sdk_results import Sieve
from tests.core.mcp.conftest import Connect

HERE = Path(__file__).parent
CASES: list[dict[str, Any]] = [
    json.loads(line) for line in (HERE / "odd_servers.jsonl").read_text(encoding="utf-8").splitlines()
]


def odd_server(era: str, replies: dict[str, Any]) -> ServerDefinition:
    args = ("-S", str(HERE / "odd_program.py"), era, json.dumps(replies))
    return ServerDefinition(name="odd", reached_by=Program(command=sys.executable, args=args))


@pytest.mark.parametrize("era", ["handshake", "stateless"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"].replace(" ", "-"))
@pytest.mark.sampled(2, "case", "era")
async def test_what_is_odd_is_left_out_and_named_and_the_rest_is_kept(
    case: dict[str, Any], era: str, connect: Connect
) -> None:
    connection = connect(odd_server(era, case["replies"]))

    await connection.tools()

    status = connection.status
    assert status.facts is not None
    assert status.facts.era == era
    kept = {
        kind: [each.name for each in getattr(status, kind)] for kind in ("tools", "prompts", "resources", "templates")
    }
    assert kept == {kind: case.get(kind, []) for kind in kept}
    assert len(status.left_out) == len(case["left_out"]), status.left_out
    for said, begin in zip(status.left_out, case["left_out"], strict=True):
        assert said.startswith(begin)
    if kept["tools"]:
        reply = await connection.call("plain", {})
        assert not reply.is_error


async def test_a_result_that_does_not_fit_what_the_tool_promised_is_still_given(connect: Connect) -> None:
    promise = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tool = {"name": "plain", "inputSchema": {"type": "object"}, "outputSchema": promise}
    connection = connect(odd_server("stateless", {"tools/list": {"tools": [tool]}}))

    assert not (await connection.call("plain", {})).is_error


async def test_a_version_of_the_protocol_that_nobody_here_speaks_is_refused_in_words(connect: Connect) -> None:
    said = {"protocolVersion": "2099-01-01", "capabilities": {}, "serverInfo": {"name": "odd", "version": "1"}}

    with pytest.raises(ServerError, match="2099-01-01"):
        await connect(odd_server("handshake", {"initialize": said})).tools()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(["name", "inputSchema", "description", "_meta", "annotations", "icons", "execution", "title"])


@given(odd=st.lists(JSON | st.dictionaries(FIELDS, JSON, max_size=5), max_size=3), cursor=JSON, meta=JSON)
@pytest.mark.parametrize("version", ["2024-11-05", "2025-11-25", "2026-07-28"])
def test_whatever_stands_beside_a_sound_tool_the_tool_is_kept(
    version: str, odd: list[object], cursor: object, meta: object
) -> None:
    sound = {"name": "sound", "inputSchema": {"type": "object"}}
    sieve = Sieve()
    sieve.version = version
    result: dict[str, object] = {"tools": [*odd, sound], "nextCursor": cursor, "_meta": meta}

    sieve.strain(result)

    parsed: Any = parse_server_result("tools/list", version, result)
    assert parsed.tools[-1].name == "sound"
