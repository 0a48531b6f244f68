"""No text for the user is set in a widget without translation."""

import ast
import re
from collections.abc import Iterator

import pytest

from translatable_texts import PACKAGE

SHOWING = {
    *("setText", "setPlainText", "setInformativeText", "setDetailedText", "setLabelText", "setPlaceholderText"),
    *("setToolTip", "setStatusTip", "setWhatsThis", "setTitle", "setWindowTitle", "setSuffix", "setPrefix"),
    *("setAccessibleName", "setAccessibleDescription", "addAction", "addMenu", "addItem", "addButton", "addTab"),
    *("insertItem", "showMessage", "QLabel", "QPushButton", "QToolButton", "QCheckBox", "QRadioButton", "QGroupBox"),
    *("QAction", "make_label", "make_button", "note", "ShortcutButton"),
}
"""Methods whose first text is shown; later arguments are data, roles and slots."""


_SHOWN = {"text", "label", "title", "accessible_name", "tool_tip"}
"""Named arguments that are shown."""

_THE_SAME_EVERYWHERE = ("Authorization: Bearer", "x-api-key", "https://models.example/v1", "Alt+")
_MAY_SHOW = re.compile(rf"\b(?:{'|'.join(SHOWING)})\(\s*f?[\"']|\b(?:{'|'.join(_SHOWN)})=f?[\"']")
"""Modules without such a call are not parsed."""
_WORD = re.compile(r"[A-Za-z]{2,}")


def _literals(call: ast.Call) -> Iterator[str]:
    for argument in [*call.args[:1], *(each.value for each in call.keywords if each.arg in _SHOWN)]:
        parts = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
        for part in parts:
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and _WORD.search(part.value):
                yield from [] if part.value in _THE_SAME_EVERYWHERE else [part.value]


def _untranslated(source: str) -> Iterator[str]:
    if not _MAY_SHOW.search(source):
        return
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call):
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            if name in SHOWING:
                yield from (f"line {call.lineno}: {name}({text!r})" for text in _literals(call))


def test_what_is_shown_goes_through_translation() -> None:
    files = [file for part in ("ui", "app") for file in sorted((PACKAGE / part).rglob("*.py"))]
    found = {str(file): list(_untranslated(file.read_text(encoding="utf-8"))) for file in files}
    assert {file: texts for file, texts in found.items() if texts} == {}, "translate it, for example with `self.tr`"


@pytest.mark.parametrize(
    "line", ['label.setText("3 files")', 'label.setText(f"{count} files")', 'make_button(accessible_name="Close")']
)
def test_a_text_that_is_not_translated_is_found(line: str) -> None:
    assert len(list(_untranslated(line))) == 1


@pytest.mark.parametrize(
    "line", ['label.setText(self.tr("Close"))', 'label.setText(f"{count} · ")', 'note("", "error")']
)
def test_what_is_translated_or_has_no_words_is_left_alone(line: str) -> None:
    assert list(_untranslated(line)) == []
