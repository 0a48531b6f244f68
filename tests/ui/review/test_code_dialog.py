"""Code is inserted into a file at its place, with the file's line ends and indentation."""

import pytest

from desktop_agent.ui.review.code_dialog import Place, decoded, placed, places

FILE = "import os\n\n\nclass A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n\n\nx = 1\n"


@pytest.mark.parametrize(
    ("text", "code", "place", "new"),
    [
        (None, "a\nb", "file", "a\nb\n"),
        ("a\r\nb\r\n", "c\nd", "file", "c\r\nd\r\n"),
        ("\ufeffa\n", "b", "file", "\ufeffb\n"),
        ("a\n", "b", "end", "a\n\nb\n"),
        (FILE, "def f(self):\n    return 10", "lines", FILE.replace("return 1\n", "return 10\n")),
        (FILE, "class A:\n    pass", "lines", "import os\n\n\nclass A:\n    pass\n\n\nx = 1\n"),
        ("f() {\n  a\n}\nb\n", "f() {\n  c\n}\n", "lines", "f() {\n  c\n}\nb\n"),
        ("one\ntwo\nthree\nfour\n", "one\n2\nthree\n", "lines", "one\n2\nthree\nfour\n"),
    ],
)
def test_code_is_placed(text: str | None, code: str, place: Place, new: str) -> None:
    assert place in places(text, code)
    assert placed(text, code, place) == new


def test_the_likeliest_place_comes_first() -> None:
    assert places(None, "x") == ("file",)
    assert places(FILE, "def f(self):\n    return 3")[0] == "lines"
    assert places(FILE, FILE.replace("1", "7"))[0] == "file"
    assert places(FILE, "something else") == ("file", "end")


def test_what_is_no_text_is_none() -> None:
    assert decoded(b"\xff\xfe") is None
    assert decoded(b"a\0b") is None
    assert decoded("ä".encode()) == "ä"
