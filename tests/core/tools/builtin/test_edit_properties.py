"""For any file and edit, no byte outside the edited text changes."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.diff.text import is_utf8
from desktop_agent.core.system.files import FileState, FileTransition, digest_of
from desktop_agent.core.tools.builtin.apply_patch import ApplyPatch
from desktop_agent.core.tools.builtin.create_file import CreateFile
from desktop_agent.core.tools.builtin.edit_file import EditFile
from desktop_agent.core.tools.builtin.line_edit import LineEdit
from desktop_agent.core.tools.builtin.read_file import ReadFile
from desktop_agent.core.tools.builtin.template_block import TemplateBlock
from desktop_agent.core.tools.files.file_tool import require_notebooks
from desktop_agent.core.tools.files.text_files import TextFile
from tests.core.tools.conftest import Workspace
from tests.legacy_text import WRITTEN, edit, program

LINES = st.lists(st.sampled_from([b"a\n", b"b\r\n", b"\x0c\n", "é\u2028\r\n".encode(), b"\n", b"\r\n"]), max_size=8)
END = st.sampled_from([b"", b"end", "\x85".encode(), b"\xff\xfe\xe9"])
MARK = st.sampled_from([b"", b"\xef\xbb\xbf"])
ENDING = st.sampled_from([b"\n", b"\r\n"])
SLOW = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def put(work: Workspace, content: bytes) -> None:
    work.write("f", content)
    work.context.reads.note("f", digest_of(content))


@SLOW
@given(MARK, LINES, LINES, END, ENDING, st.sampled_from(["", "new", "é", "one\ntwo"]))
def test_edit_file_changes_only_the_text_it_replaces(
    work: Workspace, mark: bytes, before: list[bytes], after: list[bytes], end: bytes, ending: bytes, new: str
) -> None:  # Z-81
    head, tail = mark + b"".join(before) + b"x ", b" y" + ending + b"".join(after) + end
    put(work, head + b"WANTED" + tail)
    work.apply(EditFile(), path="f", old_str="WANTED", new_str=new)
    result = work.bytes_of("f")
    assert result.startswith(head)
    assert result.endswith(tail)
    middle = result[len(head) : len(result) - len(tail)]
    near = before[-1][-2:] if before else ending[-2:]
    wanted = new.replace("\n", "\r\n" if near == b"\r\n" else "\n")
    # A file with bytes that are not UTF-8 has another encoding, in which the new text is written, too.
    assert middle == wanted.encode(TextFile(head + b"WANTED" + tail).encoding or "utf-8")


@SLOW
@given(MARK, LINES, LINES, END, ENDING, st.sampled_from(["insert_before", "insert_after", "replace_block"]))
def test_template_block_changes_only_the_lines_it_is_about(
    work: Workspace, mark: bytes, before: list[bytes], after: list[bytes], end: bytes, ending: bytes, mode: str
) -> None:  # Z-81
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


TOOLS: list[Any] = [EditFile(), LineEdit(), TemplateBlock(), ApplyPatch()]


FORMS = {
    "CRLF": b"a\r\nx = 1\r\nb\r\n",
    "one LF": b"a\r\nx = 1\nb\r\n",
    "byte-order mark": b"\xef\xbb\xbfx = 1\r\n",
    "UTF-16": "\ufeffgröße\r\nx = 1\r\n".encode("utf-16-le"),
    "invalid bytes": b"a\r\xff\nx = 1\n\x0c\x85",
    "no newline at the end": b"a\nx = 1",
}


@pytest.mark.parametrize("before", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_all_but_the_edit_stays_and_the_mode_too(work: Workspace, tool: Any, before: bytes) -> None:  # Z-81, Z-82
    encoding = "utf-16-le" if before.startswith(b"\xff\xfe") else "utf-8"
    put(work, before)
    (work.root / "f").chmod(0o750)
    work.apply(tool, **edit(tool.name, "new"))
    assert work.bytes_of("f") == before.replace("x = 1".encode(encoding), "x = 2  # new".encode(encoding))
    assert (work.root / "f").stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize(("sentence", "encoding"), WRITTEN)
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
@pytest.mark.sampled(2, "tool", "sentence")
def test_new_text_is_written_in_the_encoding_of_the_file(
    work: Workspace, tool: Any, sentence: str, encoding: str
) -> None:
    lines = program(sentence)
    put(work, lines.encode(encoding))
    new = sentence[: len(sentence) // 2]
    work.apply(tool, **edit(tool.name, new))
    assert work.bytes_of("f") == lines.replace("x = 1", f"x = 2  # {new}").encode(encoding)
    work.apply(EditFile(), path="f", old_str=f"x = 2  # {new}", new_str="x = 1")
    assert work.bytes_of("f") == lines.encode(encoding)


@pytest.mark.parametrize(("sentence", "encoding"), WRITTEN)
@pytest.mark.parametrize("beginning", [1, 3, 12])
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
@pytest.mark.sampled(3, "tool", "beginning", "sentence")
def test_with_little_text_an_edit_is_right_or_refused_and_ascii_is_always_written(
    work: Workspace, tool: Any, sentence: str, encoding: str, beginning: int
) -> None:
    first = next(index for index, sign in enumerate(sentence) if not sign.isascii())
    lines = f"# {sentence[first : first + beginning]}\nx = 1\n"
    put(work, lines.encode(encoding))
    if is_utf8(lines.encode(encoding)):
        return  # as for one character, whose two bytes are another one in UTF-8
    for new in (sentence, "ASCII only"):
        put(work, lines.encode(encoding))
        refused = ""
        try:
            work.apply(tool, **edit(tool.name, new))
        except ToolError as error:
            refused = str(error)
        assert not refused or ("encoding" in refused and not new.isascii())
        expected = lines if refused else lines.replace("x = 1", f"x = 2  # {new}")
        assert work.bytes_of("f") == expected.encode(encoding)


async def test_a_file_is_read_as_the_edit_tools_see_it(work: Workspace) -> None:
    sentence = "Съешь же ещё этих мягких французских булок"
    put(work, f"{sentence}\n".encode("koi8-r"))
    read = await work.call(ReadFile(), path="f")
    assert (read.content, read.metadata["encoding"]) == (f"{sentence}\n", "koi8-r")
    work.apply(EditFile(), path="f", old_str="мягких", new_str="твёрдых")
    assert work.bytes_of("f").decode("koi8-r") == "Съешь же ещё этих твёрдых французских булок\n"


FRENCH = "Le café était fermé, déjà à l'été. Ça coûte très cher."


@pytest.mark.parametrize(
    ("before", "arguments", "after", "says"),
    [
        (b"\xef\xbb\xbfa\r\nb\r\n", {}, b"\xef\xbb\xbfone\r\ntwo\r\n", "a byte-order mark, CRLF line endings"),
        (b"a\r\nb\n", {}, b"one\ntwo\n", None),
        (b"a\r\nb\r\n", {"content": "one\r\ntwo\n"}, b"one\r\ntwo\n", None),
        ("\ufeffa\n".encode("utf-16-le"), {}, "\ufeffone\ntwo\n".encode("utf-16-le"), "utf-16-le"),
        (b"\xef\xbb\xbfa\n", {"encoding": "utf-8"}, b"one\ntwo\n", "it had a byte-order mark"),
        (FRENCH.encode("cp1252"), {"content": "déjà"}, "déjà".encode("cp1252"), "cp1252"),
        (FRENCH.encode("cp1252"), {"content": "日本"}, "日本".encode(), "it is UTF-8 now"),
        (b"\0\1", {}, b"one\ntwo\n", None),
    ],
)
def test_what_replaces_a_file_has_its_form_or_says_what_is_lost(
    work: Workspace, before: bytes, arguments: dict[str, str], after: bytes, says: str | None
) -> None:
    put(work, before)
    call = {"path": "f", "content": "one\ntwo\n", "if_exists": "overwrite"} | arguments
    answer = work.apply(CreateFile(), **call)
    assert work.bytes_of("f") == after
    assert (says in answer.get("note", "")) if says else ("note" not in answer)


NOTEBOOK = b'{"cells": [{"source": ["print(1)\\n"]}]}'


@pytest.mark.parametrize(
    ("before", "after", "is_refused"),
    [
        (NOTEBOOK, NOTEBOOK.replace(b"(1)", b"(2)"), False),
        (NOTEBOOK, NOTEBOOK.replace(b"(1)", b'("a")'), True),
        (NOTEBOOK, b"", True),
        (NOTEBOOK, b"[]", True),
        (None, b"print(1)", True),
        (NOTEBOOK[:-1], NOTEBOOK[:-2], False),
    ],
)
def test_a_notebook_stays_a_notebook(before: bytes | None, after: bytes, *, is_refused: bool) -> None:
    old = None if before is None else FileState(content=before, mode=0o644)
    writes = (FileTransition("a.ipynb", before=old, after=FileState(content=after, mode=0o644)),)
    if not is_refused:
        require_notebooks(writes)
        return
    with pytest.raises(ToolError, match=r"would not be a notebook.* Nothing was changed"):
        require_notebooks(writes)
