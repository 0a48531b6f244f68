"""Connections with servers, mostly misbehaving ones: on real processes, and over streamable HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.connection import MOST_FAILURES, Connection, ServerPool
from desktop_agent.core.mcp.definition import Address, Program, ServerDefinition
from desktop_agent.core.mcp.sdk.sdk_results import MOST_PARTS, MOST_TOOLS, cut_long_lists
from desktop_agent.core.mcp.server_status import CallReply, MediaPart, Progress, ServerState, TextPart
from desktop_agent.core.protocol.model import Allowed, Decision, ServerQuestion
from tests.core.mcp.conftest import Connect, server
from tests.core.stubborn import is_alive
from tests.servers.mcp_http import DROPPED, Fault, McpHttpServer
from tests.servers.rude_server import RudeServer


async def until(pool: ServerPool, connection: Connection, state: ServerState) -> None:
    changed = asyncio.Event()
    stop = pool.subscribe(lambda _: changed.set())
    try:
        async with asyncio.timeout(20):
            while connection.status.state != state:
                changed.clear()
                await changed.wait()
    finally:
        stop()


@pytest.fixture
def connection(connect: Connect) -> Connection:
    return connect(server())


def text_of(reply: CallReply) -> str:
    return "".join(part.text for part in reply.parts if isinstance(part, TextPart))


async def test_a_server_is_started_when_it_is_needed_and_says_who_it_is(connection: Connection) -> None:
    assert connection.status.state == "idle"

    tools = await connection.tools()

    assert [tool.name for tool in tools][:2] == ["echo", "write"]
    assert connection.status.state == "ready"
    facts = connection.status.facts
    assert facts is not None
    assert (facts.name, facts.protocol, facts.era) == ("program", "2025-11-25", "handshake")


async def test_calls_come_back_with_all_their_parts(connection: Connection) -> None:
    progress: list[Progress] = []

    assert text_of(await connection.call("echo", {"text": "hello"})) == "hello"
    (picture,) = (await connection.call("picture", {})).parts
    await connection.call("steps", {}, progress.append)
    failed = await connection.call("fail", {})

    assert isinstance(picture, MediaPart)
    assert picture.media_type == "image/png"
    assert progress == [Progress(done=step, total=3, message="on") for step in (1, 2, 3)]
    assert failed.is_error
    assert [call.tool for call in connection.status.last_calls] == ["echo", "picture", "steps", "fail"]


async def test_a_server_that_asks_where_it_may_work_is_told_the_workspace(
    connection: Connection, tmp_path: Path
) -> None:
    answer = json.loads(text_of(await connection.call("roots", {})))

    assert answer == {"roots": [{"uri": (tmp_path / "workspace").as_uri(), "name": "workspace"}]}


async def test_calls_at_once_share_one_start_and_one_process(connection: Connection) -> None:
    replies = await asyncio.gather(*(connection.call("echo", {"text": str(number)}) for number in range(20)))

    assert [text_of(reply) for reply in replies] == [str(number) for number in range(20)]


async def test_a_greeting_on_standard_output_does_no_harm_and_is_kept(connect: Connect) -> None:
    connection = connect(server("greets"))

    await connection.tools()

    assert "Welcome to the server!" in connection.log.tail()


async def test_tools_that_a_server_says_have_changed_are_those_it_lists_since(connection: Connection) -> None:
    await connection.tools()
    await connection.call("more", {})

    assert "extra0" in [tool.name for tool in await connection.tools()]
    assert not connection.is_relisting


async def test_a_server_that_does_not_list_what_changed_offers_nothing(connect: Connect) -> None:
    connection = connect(server("coy"))
    await connection.tools()
    await connection.call("more", {})
    connection.definition = replace(connection.definition, startup_timeout_ms=50)

    assert connection.is_relisting
    with pytest.raises(ServerError, match="changed its tools and did not list them"):
        await connection.tools()
    await connection.stop()
    assert connection.status.state == "idle"


async def test_a_server_that_never_lists_what_changed_is_ended_once_no_call_runs(
    connect: Connect, pool: ServerPool
) -> None:
    connection = connect(server("coy"))
    await connection.tools()
    connection.definition = replace(connection.definition, startup_timeout_ms=50)
    await connection.call("more", {})

    await until(pool, connection, "failed")

    assert "did not list them within 0.05 s" in connection.status.problem


async def test_a_server_whose_tools_change_all_the_time_is_asked_for_them_with_pauses(connect: Connect) -> None:
    connection = connect(server("restless"))
    before = len(await connection.tools())

    for _ in range(100):
        await connection.call("echo", {})

    assert len(connection.status.tools) - before < 20, "it has one more each time that it is asked"
    assert connection.is_relisting
    await connection.tools()
    assert len(connection.status.tools) > before, "who asks waits for no pause"


@pytest.mark.parametrize(
    ("definition", "problem"),
    [
        (ServerDefinition(name="x", reached_by=Program(command="no-such-program")), "There is no program"),
        (ServerDefinition(name="x", reached_by=Program(command="false")), "It ended with exit code 1."),
        (server("mute", startup_timeout_ms=300), "It did not answer within 0.3 s."),
        (ServerDefinition(name="x", reached_by=Program(command="yes")), "is not the protocol"),
        (
            ServerDefinition(name="x", reached_by=Program(command="head", args=("-c", "100000000", "/dev/zero"))),
            "It sent a message of more than 16 MiB.",
        ),
    ],
)
async def test_a_server_that_cannot_be_used_says_why(
    connect: Connect, definition: ServerDefinition, problem: str
) -> None:
    connection = connect(definition)

    with pytest.raises(ServerError) as caught:
        await connection.tools()

    assert problem in str(caught.value)
    assert problem in connection.status.problem
    assert connection.status.state == "failed"


async def test_a_failed_server_is_not_tried_again_at_once_and_rests_in_the_end(connect: Connect) -> None:
    connection = connect(ServerDefinition(name="x", reached_by=Program(command="false")))
    for failure in range(1, MOST_FAILURES + 1):
        with pytest.raises(ServerError, match="could not be started"):
            await connection.restart() if failure == 1 else await try_now(connection)
        if failure < MOST_FAILURES:
            with pytest.raises(ServerError, match="failed a moment ago"):
                await connection.tools()

    assert connection.status.state == "resting"
    with pytest.raises(ServerError, match="not tried any more"):
        await connection.tools()


async def try_now(connection: Connection) -> None:
    connection._may_try_at = 0.0  # pyright: ignore[reportPrivateUsage] -- the pauses add up to half a minute
    await connection.tools()


async def test_a_server_that_dies_under_a_call_tells_its_last_words_and_is_started_again(
    connection: Connection, pool: ServerPool
) -> None:
    with pytest.raises(ServerError) as caught:
        await connection.call("die", {})

    assert "It ended with exit code 7." in str(caught.value)
    assert "last words" in caught.value.detail
    await until(pool, connection, "failed")
    await try_now(connection)
    assert text_of(await connection.call("echo", {"text": "again"})) == "again"


async def test_a_server_that_nobody_calls_ends_after_its_time(connect: Connect, pool: ServerPool) -> None:
    connection = connect(server(ttl_seconds=0.2))
    await connection.tools()
    pid = connection.status.pid

    await until(pool, connection, "idle")

    assert pid is not None
    assert not is_alive(pid)
    assert text_of(await connection.call("echo", {"text": "back"})) == "back"


async def test_quitting_leaves_neither_a_stubborn_server_nor_its_children(
    connect: Connect, pool: ServerPool, tmp_path: Path
) -> None:
    connection = connect(server("stubborn", "forks"))
    await connection.tools()
    pid, child = connection.status.pid, int((tmp_path / "workspace" / "child").read_text())

    await pool.aclose()

    assert pid is not None
    assert not is_alive(pid)
    assert not is_alive(child)


async def test_stopping_while_it_starts_ends_the_start(connect: Connect) -> None:
    connection = connect(server("mute"))
    start = asyncio.create_task(connection.tools())
    await asyncio.sleep(0)
    await connection.stop()

    with pytest.raises(ServerError, match="stopped before it was ready"):
        await start
    assert connection.status.state == "idle"


async def test_a_restart_that_is_cancelled_still_ends_the_server_and_the_next_call_gets_a_new_one(
    connection: Connection,
) -> None:
    await connection.tools()
    before = connection.status.pid
    restart = asyncio.create_task(connection.restart())
    await asyncio.sleep(0)
    restart.cancel()

    reply, _ = await asyncio.gather(connection.call("echo", {"text": "new"}), asyncio.wait({restart}))

    assert restart.cancelled()
    assert text_of(reply) == "new"
    assert connection.status.pid != before


async def test_sessions_of_a_folder_share_a_server_and_those_of_another_have_their_own(
    pool: ServerPool, tmp_path: Path
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    first, second, other = (pool.lease(server(), folder) for folder in (here, here, there))
    started: set[int | None] = set()
    pool.subscribe(lambda status: started.add(status.pid))

    await asyncio.gather(*(lease.connection.tools() for lease in (first, second, other)))
    first.give_back()

    assert len(started - {None}) == 2
    assert second.connection is first.connection
    assert text_of(await second.connection.call("echo", {"text": "still shared"})) == "still shared"


async def test_a_process_that_asks_while_several_calls_run_is_refused_for_all_of_them(connection: Connection) -> None:
    message: dict[str, object] = {"role": "user", "content": {"type": "text", "text": "Name a colour."}}
    arguments: dict[str, object] = {"request": {"messages": [message], "maxTokens": 5}}

    hanging = asyncio.create_task(connection.call("hang", {}))
    await connection.tools()
    reply = text_of(await connection.call("sample", arguments))
    hanging.cancel()
    await asyncio.wait({hanging})

    assert "The model is asked for one running call only: several calls ran." in reply


@pytest.mark.parametrize(
    "answer",
    ["[1]", '{"content":[],"structuredContent":{"a":%s}}' % ("[" * 5000 + "]" * 5000), '{"a":%s}' % ("9" * 6000)],
    ids=["a list", "too deep", "a number without an end"],
)
async def test_an_answer_that_cannot_be_read_ends_its_call_at_once(connection: Connection, answer: str) -> None:
    with pytest.raises(ServerError, match="Its answer cannot be read"):
        await connection.call("raw", {"line": '{"jsonrpc":"2.0","id":NUMBER,"result":' + answer + "}"})


async def test_half_an_emoji_in_an_answer_is_replaced(connection: Connection) -> None:
    line = r'{"jsonrpc":"2.0","id":NUMBER,"result":{"content":[{"type":"text","text":"cut \ud83d"}]}}'

    assert text_of(await connection.call("raw", {"line": line})) == "cut ?"


async def test_a_line_of_a_log_that_has_a_number_answers_nothing(connection: Connection) -> None:
    log = '{"jsonrpc":"log","id":NUMBER,"level":"info"}'
    answer = '{"jsonrpc":"2.0","id":NUMBER,"result":{"content":[]}}'

    assert (await connection.call("raw", {"line": f"{log}\n{answer}"})).parts == ()


async def test_what_a_server_refuses_with_is_shown_short_and_steers_nothing(connection: Connection) -> None:
    error = json.dumps({"code": 1, "message": "\x1b[2J\u202e" + "x" * 1_000_000})

    with pytest.raises(ServerError) as caught:
        await connection.call("raw", {"line": f'{{"jsonrpc":"2.0","id":NUMBER,"error":{error}}}'})

    assert caught.value.title.startswith(r"The server refused: \x1b[2J\u202exx")
    assert len(caught.value.title) < 2_100


async def test_a_result_of_very_many_parts_is_cut_and_says_so(connection: Connection) -> None:
    content = [{"type": "text", "text": "x"}] * (MOST_PARTS + 3)

    reply = await connection.call("result", {"result": {"content": content}})

    assert len(reply.parts) == MOST_PARTS + 1
    assert reply.parts[-1] == TextPart("[3 more parts of the server's answer were left out.]")


async def test_one_call_asks_the_user_so_often_and_no_more(connect: Connect) -> None:
    asked: list[ServerQuestion] = []

    async def ask(question: ServerQuestion) -> Decision:
        asked.append(question)
        return Allowed()

    connection = connect(server())
    request: dict[str, object] = {"message": "Again?", "requestedSchema": {"type": "object", "properties": {}}}
    reply = await connection.call("nag", {"request": request, "times": 30}, ask=ask)

    assert [answer["action"] for answer in json.loads(text_of(reply))].count("decline") == 10
    assert len(asked) == 20
    assert connection.log.tail().count("declined from now on") == 1


def test_a_page_of_very_many_tools_is_cut_to_one_more_than_is_allowed() -> None:
    page: dict[str, object] = {"tools": [{"name": str(number)} for number in range(60_000)]}

    cut_long_lists(page)

    assert page == {"tools": [{"name": str(number)} for number in range(MOST_TOOLS + 1)]}


def test_an_answer_that_asks_for_very_much_at_once_is_a_failure_and_asks_nothing() -> None:
    few: dict[str, object] = {"resultType": "input_required", "inputRequests": dict.fromkeys(map(str, range(20)))}
    many: dict[str, object] = {"resultType": "input_required", "inputRequests": dict.fromkeys(map(str, range(21)))}
    few_before = dict(few)
    cut_long_lists(few)
    cut_long_lists(many)

    assert few == few_before
    assert (many["resultType"], many["isError"]) == ("complete", True)
    assert "asked for 21 things at once" in str(many["content"])


@pytest.fixture
async def reached() -> AsyncIterator[McpHttpServer]:
    async with McpHttpServer() as server:
        yield server


@pytest.fixture
async def old() -> AsyncIterator[McpHttpServer]:
    async with McpHttpServer(is_old=True) as server:
        yield server


def at(url: str, *, name: str = "reached", **rest: object) -> ServerDefinition:
    return ServerDefinition(name=name, reached_by=Address(url=url, **rest))  # pyright: ignore[reportArgumentType]


async def failure_of(connection: Connection, tool: str = "echo") -> ServerError:
    with pytest.raises(ServerError) as caught:
        await connection.call(tool, {"text": "x"})
    return caught.value


async def test_a_server_at_an_address_is_reached_and_called(reached: McpHttpServer, connect: Connect) -> None:
    connection = connect(at(reached.url, headers={"X-Team": "blue"}))
    progress: list[Progress] = []

    tools = await connection.tools()
    reply = await connection.call("echo", {"text": "hello"})
    await connection.call("steps", {}, progress.append)

    assert [tool.name for tool in tools] == ["echo", "steps", "large"]
    assert text_of(reply) == "hello"
    assert progress == [Progress(done=step, total=3, message="on") for step in (1, 2, 3)]
    facts = connection.status.facts
    assert facts is not None
    assert (facts.name, facts.era, connection.status.pid) == ("reached", "stateless", None)
    assert all(headers["x-team"] == "blue" for _, _, headers in reached.requests)


async def test_a_server_of_the_older_protocol_gets_its_handshake_and_its_farewell(
    old: McpHttpServer, connect: Connect
) -> None:
    connection = connect(at(old.url))

    assert text_of(await connection.call("echo", {"text": "hello"})) == "hello"
    await connection.aclose()

    assert connection.status.facts is not None
    assert (connection.status.facts.era, connection.status.facts.protocol) == ("handshake", "2025-11-25")
    assert old.requests[-1][0] == "DELETE"


@pytest.mark.parametrize("is_old", [False, True])
async def test_answers_as_one_document_are_read_too(*, is_old: bool, connect: Connect) -> None:
    async with McpHttpServer(is_old=is_old, answers_json=True) as server:
        assert text_of(await connect(at(server.url)).call("echo", {"text": "hello"})) == "hello"


async def test_a_session_that_the_server_forgot_is_made_anew_with_the_next_call(
    old: McpHttpServer, connect: Connect, pool: ServerPool
) -> None:
    connection = connect(at(old.url))
    await connection.tools()
    old.will("tools/call", Fault(404, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}'))

    error = await failure_of(connection)

    assert "forgotten this connection" in error.title
    assert (connection.status.state, connection.status.failures) == ("idle", 0)
    assert text_of(await connection.call("echo", {"text": "again"})) == "again"


@pytest.mark.parametrize("is_old", [False, True])
async def test_a_connection_that_drops_under_a_call_fails_it_and_the_next_one_connects(
    *, is_old: bool, connect: Connect, pool: ServerPool
) -> None:
    async with McpHttpServer(is_old=is_old) as server:
        connection = connect(at(server.url))
        await connection.tools()
        server.will("tools/call", DROPPED)

        error = await failure_of(connection)

        assert "broke off" in error.title
        assert connection.status.state == "failed"
        await try_now(connection)
        assert text_of(await connection.call("echo", {"text": "again"})) == "again"


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        (Fault(500, b"<h1>Oops</h1>"), "It failed by itself (HTTP 500)."),
        (Fault(403), "It does not allow this (HTTP 403)."),
        (Fault(200, b"x" * 17_000_000, "application/json"), "a message of more than 16 MiB"),
        (Fault(200, b'{"jsonrpc":"2.0","id":1,"result":[1]}', "application/json"), "cannot be read"),
        (Fault(200, b"data: Oops\n\n", "text/event-stream"), "cannot be read"),
        (Fault(200, b"<h1>Welcome</h1>", "text/html"), "it may be a web page"),
    ],
)
async def test_a_call_that_is_refused_says_so_and_the_connection_stays(
    reached: McpHttpServer, connect: Connect, caplog: pytest.LogCaptureFixture, fault: Fault, problem: str
) -> None:
    connection = connect(at(reached.url))
    await connection.tools()
    reached.will("tools/call", fault)

    error = await failure_of(connection)

    assert problem in error.title
    assert "Oops" not in f"{error} {error.detail} {caplog.text}"
    assert text_of(await connection.call("echo", {"text": "still"})) == "still"


async def test_a_server_at_an_address_that_cannot_be_used_says_why(reached: McpHttpServer, connect: Connect) -> None:
    cases = {
        f"http://127.0.0.1:{reached.port}/other": "There is no MCP server at this address (HTTP 404).",
        "http://127.0.0.1:1/mcp": "Nothing listens at http://127.0.0.1:1.",
        f"https://127.0.0.1:{reached.port}/mcp": "offers no encrypted connection that can be trusted",
        "http://192.0.2.1/mcp": "Nothing was sent: http://192.0.2.1 is not encrypted",
        "http://": "Its URL is not a web address.",
    }
    for number, (url, problem) in enumerate(cases.items()):
        connection = connect(at(url, name=f"s{number}"))
        with pytest.raises(ServerError) as caught:
            await connection.tools()
        assert problem in caught.value.title
        assert caught.value.hint
        assert connection.status.state == "failed"


async def test_a_redirect_to_another_origin_is_not_followed(connect: Connect) -> None:
    async with McpHttpServer() as elsewhere:
        page = f"HTTP/1.1 307 Temporary Redirect\r\nlocation: {elsewhere.url}\r\ncontent-length: 0\r\n\r\n"
        async with RudeServer(page.encode()) as front:
            with pytest.raises(ServerError, match="not followed"):
                await connect(at(f"{front.url}/mcp", headers={"X-Key": "k"})).tools()

        assert elsewhere.requests == []


async def test_a_server_that_says_nothing_is_given_up_in_time(connect: Connect) -> None:
    async with RudeServer(None) as server:
        definition = ServerDefinition(name="x", reached_by=Address(url=f"{server.url}/mcp"), startup_timeout_ms=300)
        with pytest.raises(ServerError, match=r"did not answer within 0\.3 s"):
            await connect(definition).tools()


async def test_a_server_that_is_gone_fails_the_call_and_says_so_on_its_card(
    connect: Connect, pool: ServerPool, reached: McpHttpServer
) -> None:
    connection = connect(at(reached.url))
    await connection.tools()
    await reached.stop()

    error = await failure_of(connection)
    await until(pool, connection, "failed")
    await reached.start()

    assert error.hint
    assert connection.status.problem
