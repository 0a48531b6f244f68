"""Shows a Jupyter notebook (nbformat 4) as text, in Jupytext's "percent" format, so that it can be compared."""

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.diff.diff import find_edits
from desktop_agent.core.protocol.model import FileDiff

MAX_NOTEBOOK_BYTES = 4 * 1024 * 1024
"""How large one version may be. Larger ones are shown as JSON: parsing would hold the interpreter for too long."""
MAX_VALUES = 200_000
MAX_CELLS = 5_000
MAX_OUTPUT_LINES = 8

CellType = Literal["code", "markdown", "raw"]

_MAX_OUTPUT_CHARS = 200
_SLASH_SUFFIXES = frozenset(
    {".js", ".ts", ".scala", ".sc", ".cpp", ".cc", ".c", ".java", ".rs", ".go", ".kt", ".cs", ".swift", ".fs"}
)
_TEXT_TYPES = ("text/plain", "text/markdown", "text/latex", "application/json")


class Cell(Struct, frozen=True):
    type: CellType
    source: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    """A line for each output, such as a picture, and the first lines of printed text."""
    id: str = ""
    noise: str = ""
    """A digest of what is not shown: metadata and the execution count."""


class Notebook(Struct, frozen=True):
    """A notebook. `suffix` is the file suffix of its language, `noise` a digest of its metadata."""

    cells: tuple[Cell, ...] = ()
    suffix: str = ".py"
    noise: str = ""


def read_notebook(content: bytes) -> Notebook | None:
    """Read a notebook; None if the content is not one, damaged, or too large."""
    if len(content) > MAX_NOTEBOOK_BYTES or content.count(b",") > MAX_VALUES:
        return None
    try:
        found: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    document = _mapping(found)
    cells = document.get("cells")
    if document.get("nbformat") != 4 or not isinstance(cells, list):
        return None
    listed = cast("list[object]", cells)
    if len(listed) > MAX_CELLS or not all(isinstance(cell, dict) for cell in listed):
        return None
    metadata = _mapping(document.get("metadata"))
    suffix = _mapping(metadata.get("language_info")).get("file_extension")
    is_suffix = isinstance(suffix, str) and suffix[:1] == "." and suffix[1:].isalnum() and len(suffix) <= 8
    return Notebook(
        cells=tuple(_cell(_mapping(cell)) for cell in listed),
        suffix=str(suffix) if is_suffix else ".py",
        noise=_digest(metadata),
    )


def notebook_diff(diff: FileDiff, before: bytes | None, after: bytes | None) -> FileDiff | None:
    """The difference of two notebooks as text, for display only; None if one is not a notebook.

    The path ends with the suffix of the notebook's language, for syntax highlighting.
    """
    old = Notebook() if before is None else read_notebook(before)
    new = Notebook() if after is None else read_notebook(after)
    if old is None or new is None:
        return None
    suffix = old.suffix if after is None else new.suffix
    old_lines, new_lines = tuple(_lines(old, suffix)), tuple(_lines(new, suffix))
    edits = find_edits(_joined(old_lines), _joined(new_lines))
    return replace(
        diff,
        path=diff.path + suffix,
        old_lines=old_lines,
        new_lines=new_lines,
        edits=tuple(edits),
        is_binary=False,
        notes=(*(note for note in diff.notes if note.startswith("mode ")), *_notes(old, new)),
        old_encoding="utf-8",
        new_encoding="utf-8",
        undone=frozenset(),
        authors=(),
    )


def _cell(cell: Mapping[str, object]) -> Cell:
    kind = cell.get("cell_type")
    outputs = cell.get("outputs")
    return Cell(
        type="markdown" if kind == "markdown" else "raw" if kind == "raw" else "code",
        source=tuple(_text(cell.get("source")).splitlines()),
        outputs=tuple(_outputs(cast("list[object]", outputs))) if isinstance(outputs, list) else (),
        id=_text(cell.get("id")),
        noise=_digest([cell.get("metadata"), cell.get("execution_count")]),
    )


def _outputs(outputs: Sequence[object]) -> Iterator[str]:
    for output in map(_mapping, outputs):
        match output.get("output_type"):
            case "stream":
                yield from _printed(_text(output.get("name")) or "stdout", _text(output.get("text")))
            case "error":
                yield _short(f"error: {_text(output.get('ename'))}: {_text(output.get('evalue'))}")
            case _:
                yield from _shown(_mapping(output.get("data")))


def _shown(data: Mapping[str, object]) -> Iterator[str]:
    rich = [media_type for media_type in data if media_type not in _TEXT_TYPES]
    for media_type in rich:
        content = _text(data[media_type]) or _digest(data[media_type])
        size = len(content) * 3 // 4 if media_type.startswith("image/") else len(content)
        yield _short(f"{media_type}, {_size(size)}, {_digest(content)[:8]}")
    if not rich:
        for media_type in _TEXT_TYPES:
            if media_type in data:
                yield from _printed("result", _text(data[media_type]))
                return


def _printed(name: str, text: str) -> Iterator[str]:
    lines = text.splitlines()
    more = len(lines) - MAX_OUTPUT_LINES
    yield from (_short(f"{name}: {line}") for line in lines[:MAX_OUTPUT_LINES])
    if more > 0:
        yield f"{name}: … {more} more {'line' if more == 1 else 'lines'}, {_digest(text)[:8]}"


def _short(text: str) -> str:
    line = " ".join(text.splitlines())
    return line if len(line) <= _MAX_OUTPUT_CHARS else f"{line[:_MAX_OUTPUT_CHARS]}… {_digest(line)[:8]}"


def _text(value: object) -> str:
    """nbformat may store a text as a list of its lines."""
    if isinstance(value, list):
        return "".join(line for line in cast("list[object]", value) if isinstance(line, str))
    return value if isinstance(value, str) else ""


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _digest(value: object) -> str:
    if not isinstance(value, str):
        value = json.dumps(value, sort_keys=True)
    return blake2b(value.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _size(size_bytes: int) -> str:
    return f"{size_bytes} bytes" if size_bytes < 1000 else f"{size_bytes / 1000:.0f} kB"


def _lines(notebook: Notebook, suffix: str) -> Iterator[str]:
    mark = "//" if suffix in _SLASH_SUFFIXES else "#"
    for number, cell in enumerate(notebook.cells):
        if number:
            yield "\n"
        yield f"{mark} %%\n" if cell.type == "code" else f"{mark} %% [{cell.type}]\n"
        prefix = "" if cell.type == "code" else f"{mark} "
        yield from (f"{prefix}{line}".rstrip(" ") + "\n" if prefix else f"{line}\n" for line in cell.source)
        yield from (f"{mark} → {line}\n" for line in cell.outputs)


def _joined(lines: Sequence[str]) -> bytes:
    return "".join(lines).encode("utf-8", "surrogatepass")


def _notes(old: Notebook, new: Notebook) -> Iterator[str]:
    pairs, removed, added = _paired(old.cells, new.cells)
    changed = sum((a.type, a.source) != (b.type, b.source) for a, b in pairs)
    counts = [
        f"{count} {word}" for count, word in ((added, "added"), (removed, "removed"), (changed, "changed")) if count
    ]
    if counts:
        cells = "cell" if added + removed + changed == 1 else "cells"
        yield f"{cells}: {', '.join(counts)}"
    if outputs := sum(a.outputs != b.outputs for a, b in pairs):
        yield f"output changed in {outputs} {'cell' if outputs == 1 else 'cells'}{_drawn(pairs)}"
    noisy = sum(a.noise != b.noise for a, b in pairs)
    if noisy or (old.cells and new.cells and old.noise != new.noise):
        yield "metadata and execution counts changed (not shown)"


def _drawn(pairs: Sequence[tuple[Cell, Cell]]) -> str:
    images = sum(
        line.startswith("image/") and line not in before.outputs for before, after in pairs for line in after.outputs
    )
    return f" ({images} {'image' if images == 1 else 'images'})" if images else ""


def _paired(old: Sequence[Cell], new: Sequence[Cell]) -> tuple[list[tuple[Cell, Cell]], int, int]:
    """Pair cells by content, then by id, then by position. Return the pairs, and how many were removed and added."""
    pairs: list[tuple[Cell, Cell]] = []
    removed = added = old_at = new_at = 0
    for edit in find_edits(_keys(old), _keys(new)):
        pairs += zip(old[old_at : edit.old_start], new[new_at : edit.new_start], strict=True)
        gone, come = list(old[edit.old_start : edit.old_end]), list(new[edit.new_start : edit.new_end])
        by_id = {cell.id: cell for cell in come if cell.id}
        for cell in list(gone):
            if cell.id and (partner := by_id.pop(cell.id, None)):
                pairs.append((cell, partner))
                gone.remove(cell)
                come.remove(partner)
        together = min(len(gone), len(come)) if not by_id else 0
        pairs += zip(gone[:together], come[:together], strict=True)
        removed += len(gone) - together
        added += len(come) - together
        old_at, new_at = edit.old_end, edit.new_end
    pairs += zip(old[old_at:], new[new_at:], strict=True)
    return pairs, removed, added


def _keys(cells: Sequence[Cell]) -> bytes:
    return b"".join(f"{_digest([cell.type, *cell.source])}\n".encode() for cell in cells)
