"""Whatever the file and whatever the edit: no byte outside the edited text changes."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from desktop_agent.core.system.files import digest_of
from desktop_agent.core.tools.builtin.edit_file import EditFile
from desktop_agent.core.tools.builtin.template_block import TemplateBlock
from tests.core.tools.conftest import Workspace

LINES = st.lists(st.sampled_from([b"a\n", b"b\r\n", b"\xff\x0c\n", "é\u2028\r\n".encode(), b"\n", b"\r\n"]), max_size=8)
END = st.sampled_from([b"", b"end", b"\x85"])
MARK = st.sampled_from([b"", b"\xef\xbb\xbf"])
ENDING = st.sampled_from([b"\n", b"\r\n"])
SLOW = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def put(work: Workspace, content: bytes) -> None:
    work.write("f", content)
    work.context.reads.note("f", digest_of(content))


@SLOW
@given(MARK, LINES, LINES, END, ENDING, st.sampled_from(["", "new", "é", "one\ntwo"]))
def test_edit_file_changes_only_the_text_it_replaces(
    work: Workspace, mark: bytes, before: list[bytes], after: list[bytes], end: bytes, ending: bytes, new: str
) -> None:
    """Z-81."""
    head, tail = mark + b"".join(before) + b"x ", b" y" + ending + b"".join(after) + end
    put(work, head + b"WANTED" + tail)
    work.apply(EditFile(), path="f", old_str="WANTED", new_str=new)
    result = work.bytes_of("f")
    assert result.startswith(head)
    assert result.endswith(tail)
    middle = result[len(head) : len(result) - len(tail)].decode()
    near = before[-1][-2:] if before else ending[-2:]
    assert middle == new.replace("\n", "\r\n" if near == b"\r\n" else "\n")


@SLOW
@given(MARK, LINES, LINES, END, ENDING, st.sampled_from(["insert_before", "insert_after", "replace_block"]))
def test_template_block_changes_only_the_lines_it_is_about(
    work: Workspace, mark: bytes, before: list[bytes], after: list[bytes], end: bytes, ending: bytes, mode: str
) -> None:
    """Z-81."""
    head, line, tail = mark + b"".join(before), b"ANCHOR" + ending, b"".join(after) + end
    put(work, head + line + tail)
    work.apply(TemplateBlock(), path="f", mode=mode, anchor="ANCHOR", template="one\ntwo\n")
    result = work.bytes_of("f")
    if mode == "insert_before":
        tail = line + tail
    elif mode == "insert_after":
        head += line
    assert result.startswith(head)
    assert result.endswith(tail)
    middle = result[len(head) : len(result) - len(tail)]
    near = ending
    if mode == "insert_before" and before:
        near = b"\r\n" if before[-1].endswith(b"\r\n") else b"\n"
    assert middle == b"one" + near + b"two" + near
