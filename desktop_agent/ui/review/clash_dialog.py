"""The dialog that resolves conflicts file by file: by merging, or by choosing a version."""

import asyncio
from collections.abc import Sequence
from functools import cached_property, partial
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QDialog, QFrame, QGridLayout, QListWidget, QListWidgetItem, QScrollArea, QWidget
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.merge import Source, ThreeWay, compare_three
from desktop_agent.core.protocol.model import Clash, FileChange, FileDiff, FileImage, FileOutcome
from desktop_agent.core.undo.refusals import Direction
from desktop_agent.ui.part_keys import native_keys
from desktop_agent.ui.review.clash_page import (
    ClashPage,
    Names,
    enter_button,
    named_by,
    names_of,
    version_heads,
)
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff_source import DiffSource, Spawn
from desktop_agent.ui.review.media_view import VersionFacts, version_facts, version_words
from desktop_agent.ui.review.review_decisions import Resolution
from desktop_agent.ui.theme import Space, Theme, TypeSize
from desktop_agent.ui.translation import core_words, plural
from desktop_agent.ui.widgets.labels import Note, make_label, restyle
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, hbox, scroll_down, set_names, stack, vbox
from desktop_agent.ui.wording import plain_tooltip


class Versions(Struct, frozen=True):
    """The three versions; `None` is absent. `three` is set if they can be merged, else `pair` if two are texts."""

    contents: tuple[bytes | None, ...]
    facts: tuple[VersionFacts | None, ...]
    three: ThreeWay | None
    pair: "Pair | None" = None

    @property
    def wanted(self) -> bytes | None:
        return self.contents[1]


class Pair(Struct, frozen=True):
    """Two versions side by side. The third version is absent or cannot be merged as text."""

    old: Source
    new: Source
    diff: FileDiff


async def read_versions(path: str, clash: Clash, source: DiffSource) -> Versions:
    """Read the three versions. Raises `AgentError` if content cannot be read."""
    images = (clash.base, clash.wanted, clash.yours)
    contents = await source.contents(images)
    is_text = all(image is not None and image.kind == "file" for image in images)
    versions = await asyncio.to_thread(_compared, contents, is_text)
    return versions if versions.three else replace(versions, pair=await _pair(path, clash, source))


async def _pair(path: str, clash: Clash, source: DiffSource) -> Pair | None:
    images: dict[Source, FileImage | None] = {"base": clash.base, "wanted": clash.wanted, "yours": clash.yours}
    files: list[Source] = [each for each, image in images.items() if image is not None and image.kind == "file"]
    if len(files) < 2:
        return None
    old, new = files[-2:]
    change = FileChange(id="clash", path=path, kind="modified", author="person", before=images[old], after=images[new])
    diff = await source.change_diff(change)
    return Pair(old, new, diff) if diff.old_lines and diff.new_lines else None


def _compared(contents: tuple[bytes | None, ...], is_text: bool) -> Versions:
    base, wanted, yours = contents
    three = None
    if is_text and base is not None and wanted is not None and yours is not None:
        three = compare_three(base, wanted, yours)
    if three is not None and not three.clashes:
        three = None
    return Versions(contents, tuple(version_facts(content) for content in contents), three)


class WholePage(QWidget):
    def __init__(self, theme: Theme, versions: Versions, names: Names) -> None:
        super().__init__()
        why = self.tr("These versions cannot be merged line by line. Choose one of them.")
        grid = QGridLayout()
        grid.setHorizontalSpacing(Space.XL)
        grid.setVerticalSpacing(Space.S)
        grid.setColumnStretch(4, 1)
        titles = (names.base, names.wanted, names.there)
        for number, (title, version) in enumerate(zip(titles, versions.facts, strict=True)):
            grid.addWidget(make_label(title, role="strong"), number, 0)
            for place, text in enumerate(version_words(version)):
                value = make_label(text, is_plain=True, is_selectable=True)
                if place == 2:
                    value.setFont(theme.code_font(TypeSize.CODE))
                grid.addWidget(value, number, place + 1)
        head = vbox(make_label(why, wraps=True), grid, margins=(Space.XL, Space.L, Space.XL, Space.L), spacing=Space.L)
        if versions.pair is None:
            vbox(head, STRETCH, on=self)
            return
        heads_of: dict[Source, str] = {"base": names.base, "wanted": names.wanted, "yours": names.there}
        shown = f"\N{MINUS SIGN} {heads_of[versions.pair.old]}", f"+ {heads_of[versions.pair.new]}"
        self._view = DiffView(theme)
        self._view.setObjectName("clashDiffView")
        self._view.set_mode("side_by_side")
        self._view.show_diff(versions.pair.diff)
        vbox(head, hairline(), version_heads(*shown), hairline(), (self._view, 1), on=self)


_SIZE = QSize(1_080, 760)
_SIZE_OF_REASONS = QSize(560, 360)
_SHARE_OF_WINDOW = 0.94
_WRITE_KEYS = "Ctrl+Return"
_MOST_NAMED = 6


class _File(Struct):
    outcome: FileOutcome
    page: QWidget | None = None
    versions: Versions | None = None
    settled: str = ""


class ClashDialog(QDialog):
    """The dialog writes nothing. Ctrl+Enter accepts, F7 and Shift+F7 go from clash to clash, Alt+1 to Alt+3 choose."""

    resolved = Signal(object)  # a `Resolution`, at most one for each file

    def __init__(
        self,
        theme: Theme,
        purpose: Direction,
        outcomes: Sequence[FileOutcome],
        source: DiffSource,
        spawn: Spawn,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("undoConflictDialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._theme = theme
        self._purpose: Direction = purpose
        self._source = source
        self._spawn = spawn
        # Files that can be merged come first.
        left_alone = [outcome for outcome in outcomes if not outcome.is_done]
        self._files = [_File(each) for each in sorted(left_alone, key=lambda outcome: outcome.clash is None)]
        self._done_count = len(outcomes) - len(left_alone)
        self._title = make_label(role="title")
        self._summary = make_label(role="secondary", object_name="undoConflictSummary", wraps=True, is_plain=True)
        self._list = QListWidget()
        self._side = QWidget()
        self._blank = make_label(role="secondary")
        self._stack = stack(self._blank, on=self)
        self._state = Note(object_name="undoConflictState")
        self._keep = enter_button("", "keepMineButton", partial(self._settle, self.tr("kept as it is")))
        self._take = enter_button("", "useWantedButton", self._on_take)
        self._write = enter_button(self.tr("Write this result"), "writeResultButton", self._on_write)
        self._lay_out()
        for file in self._files:
            item = QListWidgetItem(file.outcome.path)
            item.setToolTip(plain_tooltip(file.outcome.path))
            self._list.addItem(item)
        has_clashes = any(file.outcome.clash is not None for file in self._files)
        self._side.setVisible(has_clashes and len(self._files) > 1)
        self._list.currentRowChanged.connect(self._on_row_changed)
        room = parent.window().size() * _SHARE_OF_WINDOW if parent else _SIZE
        self.resize((_SIZE if has_clashes else _SIZE_OF_REASONS).boundedTo(room))
        self._list.setCurrentRow(0)
        self._keep.setFocus()

    @property
    def page(self) -> ClashPage | None:
        """The page of the current file's clashes. `None` until they are read, or if the file cannot be merged."""
        page = self._file.page
        return page if isinstance(page, ClashPage) else None

    @cached_property
    def _reasons(self) -> QWidget:
        """The page of the files that nobody can merge, each with the reason."""
        content, page = QWidget(), QScrollArea()
        outcomes = (file.outcome for file in self._files if file.outcome.clash is None)
        lines = [(_plain(each.path, role="strong"), _plain(core_words(each.reason)), Space.S) for each in outcomes]
        vbox(*chain.from_iterable(lines), STRETCH, on=content, margins=_PAGE_MARGINS, spacing=Space.XS)
        scroll_down(page, content)
        return page

    @property
    def _file(self) -> _File:
        return self._files[self._list.currentRow()]

    def _on_row_changed(self, row: int) -> None:
        file = self._files[row]
        self._stack.setCurrentWidget(file.page or self._blank)
        if file.page is None and file.outcome.clash is None:
            self._add_page(file, self._reasons)
        elif file.page is None and file.outcome.clash is not None:
            self._blank.setText(self.tr("Reading the three versions…"))
            self._spawn(self._read(file, file.outcome.clash))
        self._show_state()

    async def _read(self, file: _File, clash: Clash) -> None:
        versions, reason = None, ""
        try:
            versions = await read_versions(file.outcome.path, clash, self._source)
        except AgentError as error:
            reason = " ".join(map(core_words, filter(None, (error.title, error.hint))))
        if isValid(self) and file.page is None:
            file.versions = versions
            path = file.outcome.path
            self._add_page(file, self._page_for(path, clash, versions) if versions else _reason_page(reason))

    def _page_for(self, path: str, clash: Clash, versions: Versions) -> QWidget:
        names = names_of(self._purpose, clash)
        if versions.three is None:
            return WholePage(self._theme, versions, names)
        page = ClashPage(self._theme, path, versions.three, self._purpose, names)
        page.editor.decided.connect(self._show_state)
        return page

    def _add_page(self, file: _File, page: QWidget) -> None:
        file.page = page
        self._stack.addWidget(page)
        if file is self._file:
            self._stack.setCurrentWidget(page)
        self._show_state()

    def _on_take(self) -> None:
        if (versions := self._file.versions) and not self._file.settled:
            self._resolve(versions.wanted, is_whole=True)

    def _on_write(self) -> None:
        page = self.page
        if page is None or self._file.settled:
            return
        if left := page.rows.undecided:
            page.go_to(next((number for number in left if number >= page.rows.current), left[0]))
            named = ", ".join(str(number + 1) for number in left[:_MOST_NAMED])
            listed = f"{named}, …" if len(left) > _MOST_NAMED else named
            one, many = "%n clash is left to decide: number {0}.", "%n clashes are left to decide: numbers {0}."
            self._state.say(plural("ClashDialog", len(left), one, many).format(listed), "warning")
            return
        try:
            content = page.editor.content()
        except UnicodeEncodeError:
            self._state.say(self.tr("A character does not fit the encoding of this file."), "warning")
            return
        self._resolve(content)

    def _resolve(self, content: bytes | None, *, is_whole: bool = False) -> None:
        outcome, clash = self._file.outcome, self._file.outcome.clash
        assert clash is not None
        yours, wanted = clash.yours, clash.wanted
        is_other = is_whole and wanted is not None and (yours is None or yours.kind != wanted.kind)
        expected = yours.digest if yours else None
        like = wanted if is_other else None
        self.resolved.emit(Resolution(outcome.path, content, expected, self._purpose, outcome, like))
        self._settle(self.tr("removed") if content is None else self.tr("written"))

    def _settle(self, words: str) -> None:
        file, item = self._file, self._list.currentItem()
        file.settled = words
        item.setText(f"✓ {file.outcome.path}")
        item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{file.outcome.path}, {words}")
        if file.page is not None:
            file.page.setEnabled(False)
        following = (row for row, each in enumerate(self._files) if each.outcome.clash is not None and not each.settled)
        if (row := next(following, None)) is None:
            self.accept()
        else:
            self._list.setCurrentRow(row)
            self._show_state()

    def _show_state(self) -> None:
        outcome, page, versions = self._file.outcome, self.page, self._file.versions
        is_open = not self._file.settled
        is_clash = outcome.clash is not None
        self._title.setText(self._title_words(outcome.clash))
        self.setWindowTitle(self._title.text())
        self.setAccessibleName(self._title.text())
        self._summary.setText(self._summary_words())
        self._summary.setToolTip(plain_tooltip(outcome.path))
        self._summary.setAccessibleDescription(outcome.path)
        is_undo = self._purpose == "undo"
        take = self.tr("Use the undone version") if is_undo else self.tr("Use the redone version")
        is_removal = versions is not None and versions.wanted is None
        self._take.setText(self.tr("Remove the file") if is_removal else take)
        self._take.setVisible(is_clash)
        self._take.setEnabled(is_open and versions is not None)
        self._write.setVisible(is_clash and (versions is None or page is not None))
        is_decided = page is not None and is_open and not page.rows.undecided
        state = self._state_words(page) if page and is_open else ""
        self._state.say(state)
        self._write.setEnabled(is_decided)
        self._write.setToolTip(state if page and is_open and not is_decided else native_keys(_WRITE_KEYS))
        names = names_of(self._purpose, outcome.clash) if outcome.clash else None
        self._keep.setText(names.keep_all if names else self.tr("Close"))
        primary = self._write if is_decided else self._keep
        for button in (self._keep, self._write):
            restyle(button, "variant", "primary" if button is primary else "")
        primary.setDefault(True)

    def _title_words(self, clash: Clash | None) -> str:
        is_undo = self._purpose == "undo"
        if clash is None:
            return self.tr("Not undone") if is_undo else self.tr("Not redone")
        words = self.tr("Undo conflicts with {0}") if is_undo else self.tr("Redo conflicts with {0}")
        named = named_by(clash.yours_by)
        return words.format(named[0] if named else self.tr("later changes"))

    def _summary_words(self) -> str:
        path, settled, page = self._file.outcome.path, self._file.settled, self.page
        nothing = self.tr("{0}. Nothing has been written to it.").format(path)
        if self._file.outcome.clash is None:
            nothing = self.tr("These files were not written.")
        words = [f"{path}: {settled}." if settled else nothing]
        if page and page.rows.three.merged_count and not settled:
            one, many = (
                "%n other place in the file merges without a clash.",
                "%n other places in the file merge without a clash.",
            )
            words.append(plural("ClashDialog", page.rows.three.merged_count, one, many))
        if self._done_count:
            one, many = "%n other file is done.", "%n other files are done."
            words.append(plural("ClashDialog", self._done_count, one, many))
        return " ".join(words)

    def _state_words(self, page: ClashPage) -> str:
        count, left = len(page.rows.choices), len(page.rows.undecided)
        words = plural("ClashDialog", count, "{0} of %n clash decided", "{0} of %n clashes decided").format(
            count - left
        )
        return f"{words} · {self.tr('the result can be written once all clashes are decided')}" if left else words

    def _lay_out(self) -> None:
        self._blank.setAlignment(Qt.AlignmentFlag.AlignCenter)
        QShortcut(QKeySequence(_WRITE_KEYS), self).activated.connect(self._on_write)
        margins = (Space.XL, Space.XL - 2, Space.XL, Space.M)
        head = vbox(self._title, self._summary, margins=margins, spacing=Space.XS)
        set_names(self._list, "undoConflictList", self.tr("Files left alone"))
        self._list.setFrameShape(QFrame.Shape.NoFrame)
        self._list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self._side.setFixedWidth(208)
        listed = vbox(self._list, margins=(0, Space.S, 0, Space.S))
        hbox(listed, hairline(is_vertical=True), on=self._side, margins=(Space.S, 0, 0, 0), spacing=Space.S)
        body = hbox(self._side, (self._stack, 1))
        foot = QFrame()
        foot.setProperty("role", "surface")
        margins = (Space.XL, Space.M, Space.XL, Space.M)
        hbox((self._state, 1), self._take, self._write, self._keep, on=foot, margins=margins, spacing=Space.S)
        vbox(head, hairline(), (body, 1), hairline(), foot, on=self)


_plain = partial(make_label, wraps=True, is_plain=True, is_selectable=True)
_PAGE_MARGINS = (Space.XL, Space.L, Space.XL, Space.L)


def _reason_page(reason: str) -> QWidget:
    page = QWidget()
    vbox(_plain(reason), STRETCH, on=page, margins=_PAGE_MARGINS)
    return page
