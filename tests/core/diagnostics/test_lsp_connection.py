"""What is read of a language server's output."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.diagnostics.lsp_connection import diagnostics_in
from desktop_agent.core.system.processes.line_process import MOST_BYTES, Headers

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["range", "start", "line", "message", "code"]), inner)
    ),
    max_leaves=20,
)


@given(st.lists(st.binary(max_size=50)), st.lists(st.integers(1, 40)))
def test_messages_come_out_whole_however_they_are_cut(messages: list[bytes], cuts: list[int]) -> None:
    sender, receiver = Headers(), Headers()
    stream = b"".join(map(sender.framed, messages))
    found: list[bytes] = []
    for size in cuts:
        found += receiver.feed(stream[:size])
        stream = stream[size:]
    assert found + receiver.feed(stream) == messages


@pytest.mark.parametrize(
    "stream",
    [
        b"Content-Length: x\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"\r\n\r\n",
        b"Content-Type: text\r\n\r\n{}",
        b"Content-Length: %d\r\n\r\n" % (MOST_BYTES + 1),
        b"Content-Length: " + b"9" * 4_000 + b"\r\n\r\n",
        b"no header" * 1_000,
    ],
)
def test_a_broken_stream_is_an_error(stream: bytes) -> None:
    with pytest.raises(ValueError, match=r"not the protocol|more than 16 MiB"):
        Headers().feed(stream)


@given(JSON)
def test_whatever_a_server_says_is_read(items: object) -> None:
    for each in diagnostics_in([items, {"range": items, "message": "text"}]):
        assert 0 < each.line <= each.last_line


def test_the_worst_come_first_and_hints_are_left_out() -> None:
    def entry(line: int, severity: int) -> object:
        place = {"line": line, "character": 0}
        return {"range": {"start": place, "end": place}, "message": f"at {line}\n  {severity}", "severity": severity}

    found = diagnostics_in([entry(0, 4), entry(1, 3), entry(2, 2), entry(3, 1)])
    assert [(each.line, each.severity) for each in found] == [(4, "error"), (3, "warning"), (2, "info")]
    assert found[0].message == "at 3 1"
