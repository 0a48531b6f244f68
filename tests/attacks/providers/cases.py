"""The corpus: answers of a hostile model server, and their expected results."""

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
    """One answer. `comes_to` is the fault, or `answer` if the turn survives."""

    name: str
    parts: Sequence[Part]
    comes_to: str
    says: str = ""
    is_reading: bool = True
    """Whether the server reads the request before it answers."""


def _case(name: str, comes_to: str, *parts: Part, says: str = "", is_reading: bool = True) -> Case:
    return Case(name, parts, comes_to, says, is_reading)


def _stream(name: str, comes_to: str, *parts: Part, says: str = "") -> Case:
    return _case(name, comes_to, head(), *parts, says=says)


def _flood(name: str, *parts: Part) -> Case:
    return _stream(name, "unacceptable", *parts)


_WIDE = "[" + "[]," * 200_000 + "[]]"

FLOODS = (
    _flood("text without end", TEXT, endless(delta("text_delta", text="x" * 900))),
    _flood("tiny pieces of text without end", TEXT, endless(delta("text_delta", text="x"))),
    _flood(
        "thinking without end",
        start() + block("thinking", thinking=""),
        endless(delta("thinking_delta", thinking="x" * 500)),
    ),
    _flood("arguments without end", TOOL, endless(delta("input_json_delta", partial_json="[" * 500))),
    _flood(
        "a block of an unknown type without end",
        start() + block("new", text=""),
        endless(delta("new_delta", text="xx")),
    ),
    _flood(
        "a list of an unknown block without end",
        start() + block("new", things=[]),
        endless(delta("new_delta", things=["a", "b"])),
    ),
    _flood(
        "signatures without end",
        start() + block("thinking", thinking=""),
        endless(delta("signature_delta", signature="x" * 5000)),
    ),
    _flood("100,000 calls", start(), each(lambda n: call("read_file", '{"path": "a"}', n, f"c{n}"), 100_000)),
    _flood("100,000 blocks of text", start(), each(lambda n: block("text", n, text="a") + stop(n), 100_000)),
    _flood("one event of a gigabyte", b"data: ", endless(b"x" * 60_000)),
    _flood("one event of short lines without end", endless(b"data: x\n")),
    _flood("one event of lines without a name", endless(b"a\r")),
    _flood("comments without end", endless(b": ping\n\n")),
    _flood("empty lines without end", endless(b"\n")),
    _flood("pings without end", endless(event("ping"))),
    _flood("usage without end", TEXT, endless(event("message_delta", delta={}, usage={"output_tokens": 1}))),
    _stream(
        "wide JSON in a block",
        "stream",
        start(),
        raw_event(
            b'{"type": "content_block_start", "index": 0, "content_block": {"type": "new", "v": %s}}' % _WIDE.encode()
        ),
    ),
    _flood(
        "many blocks of wide JSON",
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
    _stream("a drop within an event", "stream", ANSWER[:-30]),
    _stream("silence within the body", "network", TEXT, None, says="stopped answering"),
    _stream("an answer and then silence", "answer", ANSWER, None),
    _stream("an answer and then a flood", "answer", ANSWER, endless(delta("text_delta", text="x"))),
    *(
        _case(f"a bomb in {coding}", "unacceptable", head(f"content-encoding: {coding}"), packed, says="compressed")
        for coding, packed in (("gzip", bomb(200_000_000, "gzip")), ("deflate", bomb(200_000_000, "deflate")))
    ),
    *(
        _case(
            f"a body in {coding}",
            "unacceptable",
            head(f"content-encoding: {coding}"),
            b"\x28\xb5\x2f\xfd" * 99,
            says="compressed",
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
    _stream("garbage for events", "stream", b"data: \x01\x02\x03\n\n" * 50),
    _stream("events that are no objects", "stream", raw_event(b"[1, 2]")),
    _stream("invalid UTF-8", "stream", TEXT, b'data: {"type": "content_block_delta", "x": "\xff\xfe"}\n\n'),
    _stream("a lone surrogate", "answer", TEXT, delta("text_delta", text="\ud800"), stop(), end()),
    _stream("a NUL in the text", "answer", TEXT, delta("text_delta", text="a\0b"), stop(), end()),
    _case("an answer as JSON", "not_found", head(type="application/json"), b'{"content": "hello"}'),
    _case("a page", "not_found", head(type="text/html"), b"<html>Sign in</html>"),
    _case("a page without end", "unacceptable", head(type="text/html"), endless(b"<p>")),
    _case("no content type at all", "not_found", b"HTTP/1.1 200 OK\r\n\r\n"),
    _stream("an event 100,000 levels deep", "stream", raw_event(b"[" * 100_000)),
    _stream("arguments 100,000 levels deep", "answer", start() + call("read_file", '{"a":' * 100_000), end("tool_use")),
    _stream("one index twice", "stream", TEXT + block("text", text="again")),
    _stream("a delta of no block", "stream", start() + delta("text_delta", 7, text="x")),
    _stream("an index that is no number", "stream", start(), event("content_block_start", index="0")),
    _stream(
        "a number of 10,000 digits",
        "stream",
        raw_event(b'{"type": "message_start", "message": {"usage": {"input_tokens": %s}}}' % (b"9" * 10_000)),
    ),
    _stream("usage of 10^18", "answer", start(usage={"input_tokens": 10**18}), end(output_tokens=10**18)),
    _stream("usage below nothing", "answer", start(usage={"input_tokens": -5}), end(output_tokens=-5)),
    _stream("usage that is no number", "answer", start(usage={"input_tokens": "many"}), end(output_tokens=1.5)),
    _stream(
        "usage of NaN",
        "answer",
        raw_event(b'{"type": "message_start", "message": {"usage": {"input_tokens": NaN}}}'),
        end(),
    ),
    _stream(
        "control characters in an id", "answer", start() + call("read_file", call_id="\x1b[2J\n\0"), end("tool_use")
    ),
    _flood("an id of 1 MB", start() + block("tool_use", id="x" * 1_000_000, name="a")),
    _flood("a tool's name of 1 MB", start() + block("tool_use", id="c", name="x" * 1_000_000)),
    _stream("a tool without a name", "stream", start() + block("tool_use", id="c", name="")),
    _stream("an unknown reason to stop", "answer", TEXT + stop() + end("x" * 100_000)),
    _stream("a call in an answer that was cut", "answer", start() + call("read_file") + end("max_tokens")),
    _stream("the end of a message inside a block", "stream", TEXT + end()),
    _stream(
        "an error in the stream",
        "overloaded",
        TEXT,
        event("error", error={"type": "overloaded_error", "message": f"x {KEY}"}),
    ),
    _stream(
        "an error of 1 MB in the stream",
        "server",
        TEXT,
        event("error", error={"type": "x" * 1_000_000, "message": "y" * 900_000}),
    ),
)

CORPUS = (*HEADS, *FLOODS, *BODIES, *REDIRECTS, *WAITS, *CONTENTS)
