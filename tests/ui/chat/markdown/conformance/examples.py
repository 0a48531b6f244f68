"""The examples of two public specifications, with their HTML."""

import re
from pathlib import Path
from typing import NamedTuple

from tests.npm.programs import npm_folder

_FENCE = "`" * 32
_EXAMPLE = re.compile(
    rf"^{_FENCE} example[ ]?\w*\n(?P<markdown>.*?)^\.\n(?P<html>.*?)^{_FENCE}$|^\#+ +(?P<section>[^\n]*)$",
    re.MULTILINE | re.DOTALL,
)


class Example(NamedTuple):
    number: int
    section: str
    markdown: str
    html: str


def commonmark() -> list[Example]:
    return _examples(npm_folder("commonmark-spec") / "spec.txt")


def github() -> list[Example]:
    return _examples(Path(__file__).with_name("gfm_extensions.txt"))


def _examples(file: Path) -> list[Example]:
    found: list[Example] = []
    section = ""
    for match in _EXAMPLE.finditer(file.read_text(encoding="utf-8").partition("<!-- END TESTS -->")[0]):
        if match["section"]:
            section = match["section"]
        else:
            markdown, html = (match[part].replace("→", "\t") for part in ("markdown", "html"))
            found.append(Example(len(found) + 1, section, markdown, html))
    return found
