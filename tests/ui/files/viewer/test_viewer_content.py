import os
from pathlib import Path

import pytest

from desktop_agent.core.diff.edited_text import EditedText
from desktop_agent.ui.files.viewer.text_page import (
    MAX_EDITED_BYTES,
    MAX_SHOWN_BYTES,
    Obstacle,
    find_places,
    obstacle_words,
    read_content,
)

pytestmark = pytest.mark.usefixtures("qapp")

_SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8"/></svg>'


@pytest.mark.parametrize(
    ("content", "obstacle"),
    [
        (b"", ""),
        (b"plain\n", ""),
        (b"a\r\nb\n", ""),
        ("\ufeffmarked\n".encode(), ""),
        ("wide\n".encode("utf-16"), ""),
        (b"caf\xe9\n", ""),
        (b"\0\1\2", "binary"),
        (b"x" * 30_000, "long lines"),
        (b"x\n" * MAX_EDITED_BYTES, ""),
        (b"x\n" * MAX_SHOWN_BYTES, "too large"),
        (_SVG, ""),
    ],
    ids=["empty", "text", "mixed", "BOM", "UTF-16", "not UTF-8", "binary", "long", "long text", "huge", "drawing"],
)
def test_a_file_is_shown_or_the_reason_is_said(tmp_path: Path, content: bytes, obstacle: Obstacle) -> None:
    name = "a.svg" if content is _SVG else "a.txt"
    (tmp_path / name).write_bytes(content)
    found = read_content(tmp_path, name)
    assert found.obstacle == obstacle
    assert bool(obstacle_words(found)) == bool(obstacle)
    if content is _SVG:
        assert found.picture is not None
    elif not obstacle:
        assert isinstance(found.text, EditedText if len(content) <= MAX_EDITED_BYTES else str)
        if isinstance(found.text, EditedText):
            assert found.text.encoded(found.text.shown) == content


def test_a_text_in_another_encoding_is_read_and_written_in_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("Größe\nStraße und Überführung\n".encode("cp1252"))
    found = read_content(tmp_path, "a.txt")
    assert isinstance(found.text, EditedText)
    assert (found.encoding, found.text.shown) == ("CP1252", "Größe\nStraße und Überführung\n")
    assert found.text.encoded("Größe\nMaß\n") == "Größe\nMaß\n".encode("cp1252")
    with pytest.raises(UnicodeEncodeError):
        found.text.encoded("→\n")


def test_nothing_outside_the_folder_is_shown_and_a_link_is_what_it_leads_to(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "real.txt").write_text("x\n")
    (folder / "link.txt").symlink_to("real.txt")
    (folder / "out.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "secret.txt").write_text("x\n")
    os.mkfifo(folder / "pipe")
    outside = [read_content(folder, path).obstacle for path in ("out.txt", "../secret.txt", "//host/a", "/etc/hosts")]
    assert outside == ["outside"] * 4
    assert read_content(folder, "link.txt").path == "real.txt"
    assert [read_content(folder, path).obstacle for path in ("pipe", ".", "none", "real.txt/none")] == [
        *("no file", "no file", "gone", "gone")
    ]


@pytest.mark.parametrize(
    ("text", "wanted", "places"),
    [
        ("one\nTWO one\n", "One", [(0, 3), (8, 11)]),
        ("aaaa", "aa", [(0, 2), (2, 4)]),
        ("\U0001f600 x\nX", "x", [(3, 4), (5, 6)]),
        ("straße a.c abc", "A.C", [(7, 10)]),
        ("anything", "", []),
        ("x" * 150_000 + "\n" + "y", "y", [(150_001, 150_002)]),
    ],
)
def test_what_is_found_are_places_in_the_document(text: str, wanted: str, places: list[tuple[int, int]]) -> None:
    assert [tuple(place) for place in find_places(text, wanted)] == places
