"""The corpus: what a model's address may answer, and what must come of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.attacks.providers.victim import KEY
from tests.attacks.providers.wire import (
    block,
    bomb,
    call,
    chunked,
    delta,
    each,
    end,
    endless,
    event,
    head,
    raw_event,
    start,
    stop,
)
from tests.servers.rude_server import Part

TEXT = start() + block("text", text="")
TOOL = start() + block("tool_use", id="c1", name="read_file", input={})
ANSWER = TEXT + delta("text_delta", text="hello") + stop() + end(output_tokens=2)


@dataclass(frozen=True)
class Case:
    """One answer. `comes_to` is the fault, or `answer` where the turn survives it."""

    name: str
    parts: Sequence[Part]
    comes_to: str
    says: str = ""
    is_reading: bool = True
    """Whether the server reads the request before it answers."""


def _case(name: str, comes_to: str, *parts: Part, says: str = "", is_reading: bool = True) -> Case:
    return Case(name, parts, comes_to, says, is_reading)


_WIDE = "[" + "[]," * 200_000 + "[]]"

FLOODS = (
    _case("text without end", "unacceptable", head(), TEXT, endless(delta("text_delta", text="x" * 900))),
    _case("tiny pieces of text without end", "unacceptable", head(), TEXT, endless(delta("text_delta", text="x"))),
    _case(
        "thinking without end",
        "unacceptable",
        head(),
        start() + block("thinking", thinking=""),
        endless(delta("thinking_delta", thinking="x" * 500)),
    ),
    _case(
        "arguments without end",
        "unacceptable",
        head(),
        TOOL,
        endless(delta("input_json_delta", partial_json="[" * 500)),
    ),
    _case(
        "a block of an unknown type without end",
        "unacceptable",
        head(),
        start() + block("new", text=""),
        endless(delta("new_delta", text="xx")),
    ),
    _case(
        "a list of an unknown block without end",
        "unacceptable",
        head(),
        start() + block("new", things=[]),
        endless(delta("new_delta", things=["a", "b"])),
    ),
    _case(
        "signatures without end",
        "unacceptable",
        head(),
        start() + block("thinking", thinking=""),
        endless(delta("signature_delta", signature="x" * 5000)),
    ),
    _case(
        "100,000 calls",
        "unacceptable",
        head(),
        start(),
        each(lambda n: call("read_file", '{"path": "a"}', n, f"c{n}"), 100_000),
    ),
    _case(
        "100,000 blocks of text",
        "unacceptable",
        head(),
        start(),
        each(lambda n: block("text", n, text="a") + stop(n), 100_000),
    ),
    _case("one event of a gigabyte", "unacceptable", head(), b"data: ", endless(b"x" * 60_000)),
    _case("one event of short lines without end", "unacceptable", head(), endless(b"data: x\n")),
    _case("one event of lines without a name", "unacceptable", head(), endless(b"a\r")),
    _case("comments without end", "unacceptable", head(), endless(b": ping\n\n")),
    _case("empty lines without end", "unacceptable", head(), endless(b"\n")),
    _case("pings without end", "unacceptable", head(), endless(event("ping"))),
    _case(
        "usage without end",
        "unacceptable",
        head(),
        TEXT,
        endless(event("message_delta", delta={}, usage={"output_tokens": 1})),
    ),
    _case(
        "wide JSON in a block",
        "stream",
        head(),
        start(),
        raw_event(
            b'{"type": "content_block_start", "index": 0, "content_block": {"type": "new", "v": %s}}' % _WIDE.encode()
        ),
    ),
    _case(
        "many blocks of wide JSON",
        "unacceptable",
        head(),
        start(),
        *(
            raw_event(
                b'{"type": "content_block_start", "index": %d, "content_block": {"type": "new", "v": [%s[]]}}'
                % (n, b"[]," * 60_000)
            )
            for n in range(8)
        ),
    ),
)

HEADS = (
    _case("a header of 10 MB", "network", b"HTTP/1.1 200 OK\r\nx: ", b"y" * 10_000_000, b"\r\n\r\n"),
    _case("headers without end", "network", b"HTTP/1.1 200 OK\r\n", endless(b"x-header: y\r\n")),
    _case("a status line without end", "network", b"HTTP/1.1 200 ", endless(b"O")),
    _case("interim answers without end", "network", endless(b"HTTP/1.1 100 Continue\r\n\r\n")),
    _case("early hints without end", "network", endless(b"HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n")),
    _case("closed within a header", "network", b"HTTP/1.1 200 OK\r\ncontent-ty"),
    _case("closed without a word", "network"),
    _case("silence", "network", None, says="stopped answering"),
    _case("silence within the head", "network", b"HTTP/1.1 200 OK\r\n", None, says="stopped answering"),
    _case("noise", "network", b"\x00\xff\x13\x37" * 500),
    _case("an answer of HTTP/0.9", "network", b"<html>hello</html>"),
    _case("a preface of HTTP/2", "network", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    _case("a NUL in a header", "network", b"HTTP/1.1 200 OK\r\nx: a\x00b\r\n\r\n"),
    _case("two lengths", "network", b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello"),
    _case("a negative length", "network", b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nhello"),
    _case("another protocol", "network", b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n", None),
    _case("a status that is none", "network", b"HTTP/1.1 99999 What\r\n\r\n"),
    _case("no content", "not_found", b"HTTP/1.1 204 No Content\r\n\r\n"),
    _case("a secure greeting", "network", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20, is_reading=False),
)

BODIES = (
    _case("more promised than sent", "stream", head("content-length: 999999"), ANSWER[:200]),
    _case("less promised than sent", "stream", head("content-length: 100"), ANSWER),
    _case("a chunk without a size", "stream", head("transfer-encoding: chunked"), b"hello\r\n"),
    _case("a chunk of 2^64 bytes", "answer", head("transfer-encoding: chunked"), b"ffffffffffffffff\r\n", ANSWER),
    _case("a chunk's extension without end", "stream", head("transfer-encoding: chunked"), b"5;a=", endless(b"b")),
    _case(
        "trailers without end",
        "answer",
        head("transfer-encoding: chunked"),
        chunked(ANSWER),
        b"0\r\n",
        endless(b"x: y\r\n"),
    ),
    _case("an unknown transfer coding", "network", head("transfer-encoding: gzip, chunked"), chunked(ANSWER)),
    _case("a drop within an event", "stream", head(), ANSWER[:-30]),
    _case("silence within the body", "network", head(), TEXT, None, says="stopped answering"),
    _case("an answer and then silence", "answer", head(), ANSWER, None),
    _case("an answer and then a flood", "answer", head(), ANSWER, endless(delta("text_delta", text="x"))),
    *(
        _case(f"a bomb in {coding}", "unacceptable", head(f"content-encoding: {coding}"), packed, says="packed")
        for coding, packed in (("gzip", bomb(200_000_000, "gzip")), ("deflate", bomb(200_000_000, "deflate")))
    ),
    *(
        _case(
            f"a body in {coding}",
            "unacceptable",
            head(f"content-encoding: {coding}"),
            b"\x28\xb5\x2f\xfd" * 99,
            says="packed",
        )
        for coding in ("br", "zstd", "gzip, gzip", "x-gzip", "compress", "\tGZIP ")
    ),
    _case("an error without end", "server", head(status="500 Oops", type="text/html"), endless(b"<p>")),
    _case(
        "a refusal in a bomb",
        "unacceptable",
        head("content-encoding: gzip", status="401 No"),
        bomb(200_000_000, "gzip"),
    ),
    _case("a list of models without end", "unacceptable", head(type="application/json"), endless(b'{"data": [')),
)

REDIRECTS = tuple(
    _case(f"{status} to {name}", "configuration", head(f"location: {target}", status=f"{status} Elsewhere"), says=says)
    for status, name, target, says in (
        *((status, "another host", "{elsewhere}/v1/messages", "{elsewhere}") for status in (301, 302, 303, 307, 308)),
        (307, "the same place", "{here}/v1/messages", "{here}"),
        (308, "a path", "/v1/other", "{here}"),
        (307, "another scheme", "https://127.0.0.1:{port}/v1/messages", "https://127.0.0.1:{port}"),
        (307, "a file", "file:///etc/passwd", "another address"),
        (307, "a malformed address", "http://[::", "another address"),
        (307, "a place with a password", "http://user:hunter2@127.0.0.1:{port}/", "http://127.0.0.1:{port}"),
        (300, "nowhere", "", "{here}"),
    )
)

WAITS = tuple(
    _case(
        f"retry after {name}",
        "rate_limited",
        head(f"retry-after: {value}", status="429 Slow", type="application/json"),
        b'{"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}',
    )
    for name, value in (
        ("999999999 s", "999999999"),
        ("minus one", "-1"),
        ("nan", "nan"),
        ("inf", "inf"),
        ("1e400", "1e400"),
        ("never", "never"),
        ("the year 9999", "Fri, 31 Dec 9999 23:59:59 GMT"),
        ("5,000 digits", "9" * 5000),
        ("a date that is none", "Fri, 99 Dec 99999 99:99:99 GMT"),
        ("nothing", ""),
    )
)

CONTENTS = (
    _case("garbage for events", "stream", head(), b"data: \x01\x02\x03\n\n" * 50),
    _case("events that are no objects", "stream", head(), raw_event(b"[1, 2]")),
    _case("invalid UTF-8", "stream", head(), TEXT, b'data: {"type": "content_block_delta", "x": "\xff\xfe"}\n\n'),
    _case("a lone surrogate", "answer", head(), TEXT, delta("text_delta", text="\ud800"), stop(), end()),
    _case("a NUL in the text", "answer", head(), TEXT, delta("text_delta", text="a\0b"), stop(), end()),
    _case("an answer as JSON", "not_found", head(type="application/json"), b'{"content": "hello"}'),
    _case("a page", "not_found", head(type="text/html"), b"<html>Sign in</html>"),
    _case("a page without end", "unacceptable", head(type="text/html"), endless(b"<p>")),
    _case("no content type at all", "not_found", b"HTTP/1.1 200 OK\r\n\r\n"),
    _case("an event 100,000 levels deep", "stream", head(), raw_event(b"[" * 100_000)),
    _case(
        "arguments 100,000 levels deep",
        "answer",
        head(),
        start() + call("read_file", '{"a":' * 100_000),
        end("tool_use"),
    ),
    _case("one index twice", "stream", head(), TEXT + block("text", text="again")),
    _case("a delta of no block", "stream", head(), start() + delta("text_delta", 7, text="x")),
    _case("an index that is no number", "stream", head(), start(), event("content_block_start", index="0")),
    _case(
        "a number of 10,000 digits",
        "stream",
        head(),
        raw_event(b'{"type": "message_start", "message": {"usage": {"input_tokens": %s}}}' % (b"9" * 10_000)),
    ),
    _case("usage of 10^18", "answer", head(), start(usage={"input_tokens": 10**18}), end(output_tokens=10**18)),
    _case("usage below nothing", "answer", head(), start(usage={"input_tokens": -5}), end(output_tokens=-5)),
    _case("usage that is no number", "answer", head(), start(usage={"input_tokens": "many"}), end(output_tokens=1.5)),
    _case(
        "usage of NaN",
        "answer",
        head(),
        raw_event(b'{"type": "message_start", "message": {"usage": {"input_tokens": NaN}}}'),
        end(),
    ),
    _case(
        "control characters in an id",
        "answer",
        head(),
        start() + call("read_file", call_id="\x1b[2J\n\0"),
        end("tool_use"),
    ),
    _case("an id of 1 MB", "unacceptable", head(), start() + block("tool_use", id="x" * 1_000_000, name="a")),
    _case("a tool's name of 1 MB", "unacceptable", head(), start() + block("tool_use", id="c", name="x" * 1_000_000)),
    _case("a tool without a name", "stream", head(), start() + block("tool_use", id="c", name="")),
    _case("an unknown reason to stop", "answer", head(), TEXT + stop() + end("x" * 100_000)),
    _case("a call in an answer that was cut", "answer", head(), start() + call("read_file") + end("max_tokens")),
    _case("the end of a message inside a block", "stream", head(), TEXT + end()),
    _case(
        "an error in the stream",
        "overloaded",
        head(),
        TEXT,
        event("error", error={"type": "overloaded_error", "message": f"x {KEY}"}),
    ),
    _case(
        "an error of 1 MB in the stream",
        "server",
        head(),
        TEXT,
        event("error", error={"type": "x" * 1_000_000, "message": "y" * 900_000}),
    ),
)

CORPUS = (*HEADS, *FLOODS, *BODIES, *REDIRECTS, *WAITS, *CONTENTS)
