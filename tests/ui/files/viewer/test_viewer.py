"""Files in tabs: opened, closed, reopened, searched, and reread when they change."""

from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage, QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit

from desktop_agent.ui.files.viewer.file_pane import MAX_TABS
from desktop_agent.ui.widgets.find_bar import FindBar
from tests.parts import part
from tests.ui.files.conftest import driven
from tests.ui.files.viewer.conftest import Reader

SHIFT_CTRL = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


@driven
async def test_files_stand_in_tabs_that_close_and_come_back(reader: Reader, folder: Path) -> None:
    await reader.open(folder, "src/pages.py", 120)
    await reader.open(folder, "README.md")
    assert reader.tabs == ["pages.py", "README.md"]
    await reader.open(folder, "tests/pages.py")
    assert reader.tabs == ["pages.py — src", "README.md", "pages.py — tests"]
    await reader.open(folder, "src/pages.py")
    assert reader.text.line == 120, "it is where the user was in it"
    reader.press(Qt.Key.Key_W)
    assert reader.tabs == ["README.md", "pages.py"]
    assert reader.page.path == "tests/pages.py", "what was looked at before is shown"
    at = reader.viewer.tabs.bar.tabRect(1).center()
    QTest.mouseClick(reader.viewer.tabs.bar, Qt.MouseButton.MiddleButton, pos=QPoint(at.x(), at.y()))
    assert reader.tabs == ["pages.py"]
    reader.press(Qt.Key.Key_T, SHIFT_CTRL)
    reader.press(Qt.Key.Key_T, SHIFT_CTRL)
    await reader.quiet()
    assert reader.page.path == "src/pages.py"
    assert reader.text.line == 120
    for number in range(MAX_TABS):
        reader.viewer.open_file(folder, f"none/{number}.py")
    assert len(reader.tabs) == MAX_TABS
    for _ in range(MAX_TABS):
        reader.press(Qt.Key.Key_W)
    assert reader.review.isVisible()
    assert not reader.viewer.tabs.bar.isVisible(), "the review stands alone again"
    assert reader.review.hasFocus()


@driven
async def test_a_long_name_leaves_room_for_other_tabs(reader: Reader, folder: Path) -> None:
    reader.viewer.open_file(folder, "x" * 200 + ".py")
    assert reader.tabs[0].endswith("x.py")
    assert reader.viewer.tabs.bar.tabRect(1).width() < 320
    await reader.quiet()


@driven
async def test_tab_goes_from_the_tabs_to_the_buttons_below_them(reader: Reader, folder: Path) -> None:
    await reader.open(folder, "README.md")
    names, at = list[str](), reader.viewer.tabs.nextInFocusChain()
    while at is not None and at is not reader.viewer.tabs:
        names.append(at.objectName())
        at = at.nextInFocusChain()
    assert names.index("viewerTabs") < names.index("viewerSaveButton")


@driven
async def test_a_file_is_searched_and_gone_to_by_line(reader: Reader, folder: Path) -> None:
    await reader.open(folder, "src/pages.py", 100)
    reader.press(Qt.Key.Key_F)
    field = part(reader.text.find_bar, QLineEdit, "findField")
    QTest.keyClicks(field, "LINE 2")
    shown = reader.text.find_bar
    await reader.until(lambda: "2 of 111" in _words(shown))
    assert reader.text.line == 200
    QTest.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert reader.text.line == 29
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert reader.text.line == 200
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert not shown.isVisible()
    reader.press(Qt.Key.Key_G)
    line = part(reader.text.line_bar, QLineEdit, "lineField")
    assert line.text() == "200"
    QTest.keyClicks(line, "77")
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert reader.says("viewerWhere").startswith("Line 77,")


@driven
async def test_a_file_that_changes_on_disk_is_read_again_and_the_user_stays_where_they_are(
    reader: Reader, folder: Path
) -> None:
    file = folder / "src/pages.py"
    await reader.open(folder, "src/pages.py", 150)
    file.write_text(file.read_text().replace("line 1 ", "first "))
    await reader.until(lambda: reader.text.editor.toPlainText().startswith("first of"))
    assert reader.text.line == 150
    file.unlink()
    await reader.until(lambda: "no longer there" in reader.says("viewerMessage"))
    image = QImage(40, 30, QImage.Format.Format_RGB32)
    image.fill(0)
    image.save(str(file), "PNG")  # pyright: ignore[reportArgumentType,reportCallIssue] - the stub wants bytes
    await reader.until(lambda: reader.says("viewerFacts").startswith("40 × 30 · PNG image"))
    file.write_text("back\n")
    await reader.until(lambda: reader.page.text is not None and reader.text.editor.toPlainText() == "back\n")


@driven
async def test_a_file_that_is_seen_to_be_gone_before_it_is_known_to_be_renamed_is_still_where_the_user_was(
    reader: Reader, folder: Path
) -> None:
    """An undo of a folder's renaming renames file by file, over some time."""
    await reader.open(folder, "src/pages.py", 150)
    (folder / "lib").mkdir()
    (folder / "src/pages.py").rename(folder / "lib/pages.py")
    await reader.until(lambda: "no longer there" in reader.says("viewerMessage"))
    reader.viewer.follow(folder, {"src/pages.py": "lib/pages.py"})
    await reader.until(lambda: reader.page.text is not None and reader.text.editor.is_ready)
    assert reader.text.line == 150


@driven
async def test_files_that_take_each_others_paths_all_stay_open(reader: Reader, folder: Path) -> None:
    for path in ("src/pages.py", "tests/pages.py", "README.md"):
        await reader.open(folder, path)
    reader.viewer.follow(folder, {"src/pages.py": "tests/pages.py", "tests/pages.py": "README.md"})
    assert [page.path for page in reader.viewer.tabs.pages] == ["tests/pages.py", "README.md"]
    await reader.quiet()


def _words(bar: FindBar) -> str:
    return " ".join(label.text() for label in bar.findChildren(QLabel))


@driven
async def test_a_file_takes_the_place_of_the_review_and_the_focus_only_when_it_is_opened(
    reader: Reader, folder: Path
) -> None:
    assert reader.review.isVisible()
    assert not reader.viewer.tabs.bar.isVisible(), "without files there is nothing to choose from"
    await reader.open(folder, "README.md")
    assert reader.text.editor.hasFocus()
    assert not reader.review.isVisible()
    reader.press(Qt.Key.Key_Escape, Qt.KeyboardModifier.NoModifier)
    assert reader.composer.hasFocus()
    (folder / "README.md").write_text("changed by the agent\n")
    await reader.until(lambda: reader.text.editor.toPlainText() == "changed by the agent\n")
    assert reader.composer.hasFocus(), "who writes a message writes on"
    reader.text.editor.setFocus()
    reader.press(Qt.Key.Key_Tab)
    assert reader.review.hasFocus()
    assert not reader.viewer.head.isVisible()
    reader.press(Qt.Key.Key_Tab)
    assert reader.text.editor.hasFocus()
    at = reader.viewer.tabs.bar.tabRect(0).center()
    QTest.mouseClick(reader.viewer.tabs.bar, Qt.MouseButton.LeftButton, pos=at)
    assert reader.review.hasFocus()


@driven
async def test_the_keys_of_the_file_go_before_those_of_the_window(reader: Reader, folder: Path) -> None:
    found = list[str]()
    QShortcut("Ctrl+F", reader.window).activated.connect(lambda: found.append("in the conversation"))
    await reader.open(folder, "README.md")
    reader.press(Qt.Key.Key_F)
    assert (reader.text.find_bar.isVisible(), found) == (True, [])
    reader.review.setFocus()
    reader.viewer.tabs.show_page(None)
    reader.press(Qt.Key.Key_F)
    assert found == ["in the conversation"], "of the review no file is in front"


@driven
async def test_each_folder_has_its_tabs_which_come_back_with_it(reader: Reader, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "README.md").write_text("other\n")
    await reader.open(folder, "src/pages.py", 20)
    QTest.keyClicks(reader.text.editor, "X")
    await reader.open(folder, "README.md")
    reader.viewer.show_root(other)
    assert (reader.tabs, reader.review.isVisible()) == ([], True)
    await reader.open(other, "README.md")
    assert reader.tabs == ["README.md"], "the other folder's file of this name has no tab here"
    reader.viewer.show_root(folder)
    assert reader.tabs == ["● pages.py", "README.md"]
    assert reader.page.root == folder
    reader.press(Qt.Key.Key_W)
    assert reader.page.path == "src/pages.py"
    reader.viewer.show_root(other)
    reader.press(Qt.Key.Key_W)
    reader.review.setFocus()
    reader.press(Qt.Key.Key_T, SHIFT_CTRL)
    await reader.quiet()
    assert (reader.page.root, reader.tabs) == (other, ["README.md"]), "the last closed one of this folder"
    assert reader.viewer.has_unsaved
    reader.viewer.ask_for_unsaved()
    assert (reader.page.path, reader.page.bar.stage) == ("src/pages.py", "closing")
