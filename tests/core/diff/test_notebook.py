"""Notebooks as text, from Jupyter's JSON and from broken files."""

import json

import pytest

from desktop_agent.core.diff.notebook import MAX_NOTEBOOK_BYTES, MAX_VALUES, notebook_diff, read_notebook
from desktop_agent.core.protocol.model import FileDiff


def code(source: str, *outputs: object, count: int | None = 1, cell_id: str = "") -> dict[str, object]:
    cell: dict[str, object] = {
        "cell_type": "code",
        "source": source.splitlines(keepends=True),
        "outputs": list(outputs),
        "metadata": {},
        "execution_count": count,
    }
    return {**cell, "id": cell_id} if cell_id else cell


def prose(source: str) -> dict[str, object]:
    return {"cell_type": "markdown", "source": source, "metadata": {}}


def printed(text: str) -> dict[str, object]:
    return {"output_type": "stream", "name": "stdout", "text": text}


def image(data: str) -> dict[str, object]:
    return {"output_type": "display_data", "data": {"image/png": data, "text/plain": "<Figure>"}, "metadata": {}}


def notebook(*cells: object, suffix: str = ".py", **metadata: object) -> bytes:
    info = {"language_info": {"file_extension": suffix}, **metadata}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": info, "cells": cells}, indent=1).encode()


def compared(before: bytes | None, after: bytes | None) -> FileDiff:
    diff = notebook_diff(FileDiff(path="a.ipynb", kind="modified", author="agent"), before, after)
    assert diff is not None
    return diff


def test_cells_become_the_percent_format_with_their_outputs_summarised() -> None:
    diff = compared(None, notebook(prose("# Sales\nby day"), code("x = 1\nx", printed("1\n"), image("A" * 8000))))
    assert "".join(diff.new_lines).splitlines() == [
        "# %% [markdown]",
        "# # Sales",
        "# by day",
        "",
        "# %%",
        "x = 1",
        "x",
        "# → stdout: 1",
        f"# → image/png, 6 kB, {diff.new_lines[-1].rsplit(', ')[-1].strip()}",
    ]
    assert diff.path == "a.ipynb.py"
    assert diff.notes == ("cells: 2 added",)


def test_the_language_of_the_notebook_says_how_comments_look() -> None:
    diff = compared(None, notebook(prose("Hi"), suffix=".ts"))
    assert (diff.path, diff.new_lines) == ("a.ipynb.ts", ("// %% [markdown]\n", "// Hi\n"))


def counted(count: int) -> object:
    return printed("\n".join(map(str, range(count))))


CHANGES: dict[str, tuple[bytes, bytes | None, tuple[int, int], tuple[str, ...]]] = {
    "only what was written counts": (
        notebook(code("a = 1"), code("b = 2")),
        notebook(code("a = 1", count=7), code("b = 3", count=8), kernelspec="other"),
        (1, 1), ("cell: 1 changed", "metadata and execution counts changed (not shown)"),
    ),
    "a new picture is a change": (
        notebook(code("plot()", image("AAAA"))), notebook(code("plot()", image("BBBB"), image("CCCC"))),
        (2, 1), ("output changed in 1 cell (2 images)",),
    ),
    "cells are followed by their ids": (
        notebook(code("a", cell_id="1"), code("b", cell_id="2")),
        notebook(code("b2", cell_id="2"), code("c", cell_id="3")),
        (2, 2), ("cells: 1 added, 1 removed, 1 changed",),
    ),
    "outputs that are cut are told apart": (
        notebook(code("x", counted(99))), notebook(code("x", counted(98))), (1, 1), ("output changed in 1 cell",)
    ),
    "a deleted notebook has one side": (notebook(code("a")), None, (0, 2), ("cell: 1 removed",)),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_counted_in_lines_and_said_in_cells(name: str) -> None:
    before, after, counts, notes = CHANGES[name]
    diff = compared(before, after)
    assert ((diff.added, diff.removed), diff.notes) == (counts, notes)
    assert max(len(diff.old_lines), len(diff.new_lines)) <= 11, "long outputs are cut"


def test_errors_and_results_are_outputs_too() -> None:
    error = {"output_type": "error", "ename": "ValueError", "evalue": "no\nway", "traceback": ["\x1b[31m"]}
    result = {"output_type": "execute_result", "data": {"text/plain": ["4", "2"]}}
    diff = compared(None, notebook(code("x", error, result)))
    assert diff.new_lines[2:] == ("# → error: ValueError: no way\n", "# → result: 42\n")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b'"text"',
        b'{"nbformat": 3, "worksheets": []}',
        b'{"nbformat": 4, "cells": 7}',
        b'{"nbformat": 4, "cells": [1, 2]}',
        b'{"nbformat": 4, "cells": [' + b"[" * 100_000,
        b"[" * 1_000_000,
        b'{"nbformat": 4, "cells": [' + b"{}," * MAX_VALUES + b"{}]}",
        b" " * (MAX_NOTEBOOK_BYTES + 1),
        b"\xff\xfe\x00",
        notebook(*[code("x")] * 5001),
    ],
    ids=lambda content: repr(content[:24]),
)
def test_what_is_no_notebook_or_too_much_of_one_is_not_read(content: bytes) -> None:
    assert read_notebook(content) is None


def test_odd_cells_are_read_as_far_as_they_make_sense() -> None:
    odd: object = json.loads(
        '{"cell_type": 5, "source": {"a": 1}, "outputs": [null, 3, {"output_type": [], "data": "x"}], "id": []}'
    )
    deep: object = 1
    for _ in range(200):
        deep = [deep]
    found = read_notebook(notebook(odd, {"metadata": deep}))
    assert found is not None
    assert [(cell.type, cell.source, cell.outputs) for cell in found.cells] == [("code", (), ()), ("code", (), ())]


def test_bytes_that_are_no_text_survive_in_a_comparison() -> None:
    diff = compared(None, notebook(code('s = "\ud800"')))
    assert diff.new_lines[1] == 's = "\ud800"\n'
