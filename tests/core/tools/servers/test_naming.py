"""Names of servers' tools, as providers take them."""

from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.tools.registry import ToolRegistry
from desktop_agent.core.tools.servers.mcp_tool import LONGEST_NAME, wire_name

SERVERS = st.from_regex(r"\A[A-Za-z0-9]([A-Za-z0-9-]{0,14}[A-Za-z0-9])?\Z")
TOOLS = st.one_of(st.text(min_size=1, max_size=80), st.from_regex(r"\A[a-z_]{1,70}(-[0-9a-f]{8})?\Z"))


@given(SERVERS, TOOLS)
def test_every_name_is_one_that_providers_take(server: str, tool: str) -> None:
    name = wire_name(server, tool)

    assert len(name) <= LONGEST_NAME
    assert name.startswith(f"{server}__")
    assert all(sign.isascii() and (sign.isalnum() or sign in "_-") for sign in name)


@given(st.lists(st.tuples(SERVERS, TOOLS), unique=True, max_size=20))
def test_no_two_tools_get_the_same_name(tools: list[tuple[str, str]]) -> None:
    assert len({wire_name(server, tool) for server, tool in tools}) == len(tools)


def test_a_plain_name_stays_readable() -> None:
    assert wire_name("git", "git_status") == "git__git_status"


def test_a_registry_without_servers_is_as_before() -> None:
    registry = ToolRegistry(())
    registry.put("git", ())
    assert list(registry) == []
