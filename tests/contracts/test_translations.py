"""German and Simplified Chinese are complete, consistent with the source, and loaded by the window."""

import re
import subprocess
import sysconfig
from collections import Counter
from pathlib import Path

import pytest

from translatable_texts import Message
from translations import COMPILED, LANGUAGES, SOURCES, catalog, main

HINT = "run packaging/translations.sh, translate what it names in packaging/translations/*.ts, and run it again"


def test_a_text_is_either_counted_or_not() -> None:
    """A counted text also says where the number stands."""
    messages = list(catalog("de"))
    kinds = Counter((message.context, message.source) for message in messages)
    assert [text for text, count in kinds.items() if count > 1] == []
    assert [message for message in messages if message.is_plural and "%n" not in message.source] == []


@pytest.mark.parametrize("argument", ["--help", "english", "../fr", "DE", ""])
def test_only_a_language_code_adds_a_language(argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(SOURCES.iterdir())
    with pytest.raises(SystemExit):
        main([argument])
    assert "language" in "".join(capsys.readouterr())
    assert sorted(SOURCES.iterdir()) == before


@pytest.mark.parametrize("language", LANGUAGES)
class TestALanguage:
    def test_has_nothing_unfinished(self, language: str) -> None:
        assert [message for message, said in catalog(language).items() if not said.is_finished] == [], HINT

    def test_fills_in_what_the_source_fills_in(self, language: str) -> None:
        wrong = [
            (message, form)
            for message, said in catalog(language).items()
            for place, form in enumerate(said.forms)
            if not _has_same_fields(message, form, is_singular=len(said.forms) > 1 and place == 0)
        ]
        assert wrong == []

    def test_ends_as_the_source_ends(self, language: str) -> None:
        """An ellipsis says that a dialog follows or that work goes on; a full stop marks a sentence."""
        wrong = [
            (message.source, form)
            for message, said in catalog(language).items()
            for form in said.forms
            if _ending(message.source) != _ending(form)
        ]
        assert wrong == []

    def test_keeps_blanks_at_the_edges_and_commands(self, language: str) -> None:
        wrong = [
            (message.source, form)
            for message, said in catalog(language).items()
            for form in said.forms
            if _kept(message.source) != _kept(form)
        ]
        assert wrong == []

    def test_is_compiled_as_it_is_written(self, language: str, tmp_path: Path) -> None:
        tool = Path(sysconfig.get_path("scripts")) / "pyside6-lrelease"
        compiled = tmp_path / "compiled.qm"
        source = SOURCES / f"desktop_agent_{language}.ts"
        command = [tool, source, "-silent", "-qm", compiled]
        subprocess.run(command, check=True)  # noqa: TID251 - no loop runs here
        assert compiled.read_bytes() == (COMPILED / f"desktop_agent_{language}.qm").read_bytes(), HINT


def _has_same_fields(message: Message, form: str, *, is_singular: bool) -> bool:
    """Whether the form has the source's fields. A singular form may have the name instead of the number, or neither."""
    fields, said = _fields(message.source), _fields(form)
    if is_singular:
        del fields["%n"], said["%n"]
        if "{0}" not in fields:
            del said["{0}"]
    return fields == said


def _fields(text: str) -> Counter[str]:
    return Counter(re.findall(r"\{\w*\}|%n", text))


def _ending(text: str) -> str:
    """The last punctuation mark in its Western form, without quotation marks and brackets."""
    last = text.rstrip().rstrip("”“)）」").rstrip()[-1:]
    sign = {"。": ".", "？": "?", "：": ":", "！": "!"}.get(last, last)
    return sign if sign in ".?:!…" else ""


def _kept(text: str) -> tuple[bool, list[str], list[str]]:
    """The parts that stay the same: a leading blank, commands in backticks, file names and addresses."""
    return text.startswith(" "), sorted(re.findall(r"`[^`]+`", text)), re.findall(r"\(\*\.?\w*\)", text)
