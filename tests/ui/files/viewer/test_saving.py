"""Files are edited and saved exactly, and never over changes made elsewhere."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from desktop_agent.ui.files.viewer.file_page import DifferenceDialog
from tests.ui.files.conftest import driven
from tests.ui.files.viewer.conftest import Reader


@driven
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"one\ntwo\n", b"Xone\ntwo\n"),
        (b"one\r\ntwo", b"Xone\r\ntwo"),
        (b"one\r\ntwo\nthree\r\n", b"Xone\r\ntwo\nthree\r\n"),
        (b"\xef\xbb\xbfone\n", b"\xef\xbb\xbfXone\n"),
        ("\ufeffone\u00a0\n".encode("utf-16-le"), "\ufeffXone\u00a0\n".encode("utf-16-le")),
        (b"caf\xe9\rz\x0c\n", b"Xcaf\xe9\rz\x0c\n"),
        (b"", b"X"),
    ],
    ids=["LF", "CRLF without a last one", "mixed", "BOM", "UTF-16", "no UTF-8", "empty"],
)
async def test_what_is_saved_is_what_was_typed_and_nothing_else(
    reader: Reader, tmp_path: Path, before: bytes, after: bytes
) -> None:
    (tmp_path / "a.txt").write_bytes(before)
    await reader.open(tmp_path, "a.txt")
    QTest.keyClicks(reader.text.editor, "X")
    assert reader.tabs == ["● a.txt"]
    reader.press(Qt.Key.Key_S)
    await reader.until(lambda: reader.tabs == ["a.txt"])
    assert (tmp_path / "a.txt").read_bytes() == after
    assert reader.says("viewerFacts").endswith(f" · {len(after)} bytes"), "what is on the disk now"
    reader.press(Qt.Key.Key_Z)
    assert reader.tabs == ["● a.txt"], "what was saved can be undone in the field"
    reader.press(Qt.Key.Key_S)
    await reader.until(lambda: reader.tabs == ["a.txt"])
    assert (tmp_path / "a.txt").read_bytes() == before


@driven
async def test_a_file_that_was_changed_elsewhere_is_compared_overwritten_or_reloaded(
    reader: Reader, folder: Path
) -> None:
    file = folder / "README.md"

    async def clash(text: str) -> None:
        QTest.keyClicks(reader.text.editor, "mine ")
        file.write_text(text)
        await reader.until(lambda: reader.page.bar.stage == "stale")

    await reader.open(folder, "README.md")
    await clash("theirs\n")
    reader.click("viewerCompareButton")
    await reader.until(lambda: bool(reader.window.findChildren(DifferenceDialog)))
    [dialog] = reader.window.findChildren(DifferenceDialog)
    dialog.close()
    reader.click("viewerOverwriteButton")
    await reader.until(lambda: not reader.page.is_dirty)
    assert file.read_text().startswith("mine line 1 ")
    await clash("theirs again\n")
    reader.click("viewerReloadButton")
    assert reader.text.editor.toPlainText() == "theirs again\n"
    assert not reader.page.is_dirty
    await reader.until(lambda: reader.text.editor.is_ready)
    QTest.keyClicks(reader.text.editor, "mine ")
    file.unlink()
    await reader.until(lambda: reader.page.bar.stage == "gone")
    reader.click("viewerOverwriteButton")
    await reader.until(lambda: not reader.page.is_dirty)
    assert file.read_text() == "mine theirs again\n"
    assert reader.disk.writes[-1] == ("README.md", None)
    QTest.keyClicks(reader.text.editor, "more ")
    reader.disk.refusal = "The agent is working."
    reader.press(Qt.Key.Key_S)
    await reader.until(lambda: reader.page.bar.stage == "failed")
    assert reader.page.is_dirty


@driven
async def test_nothing_that_is_not_saved_is_closed_unasked(reader: Reader, folder: Path) -> None:
    for path in ("src/pages.py", "README.md"):
        await reader.open(folder, path)
        QTest.keyClicks(reader.text.editor, "X")
    reader.press(Qt.Key.Key_W)
    assert reader.tabs == ["● pages.py", "● README.md"]
    reader.click("viewerGoOnButton")
    reader.viewer.ask_for_unsaved()
    assert reader.page.path == "src/pages.py"
    reader.click("viewerDiscardButton")
    assert reader.tabs == ["● README.md"]
    reader.viewer.ask_for_unsaved()
    reader.click("viewerSaveNowButton")
    await reader.until(reader.review.isVisible)
    assert not reader.viewer.has_unsaved
    assert (folder / "README.md").read_text().startswith("Xline 1 ")
    assert (folder / "src/pages.py").read_text().startswith("line 1 ")
