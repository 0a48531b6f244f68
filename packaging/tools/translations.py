"""Updates the translations: `python packaging/tools/translations.py [LANGUAGE…]`; a new language begins empty.

Merges the texts of the window into `packaging/translations/*.ts` with Qt's `lupdate`, and compiles what the window
loads with `lrelease`. What `lupdate` itself makes of Python is in ADR 23.
"""

import argparse
import json
import re
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

from translatable_texts import Message, core_patterns, sorted_messages, window_texts

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "packaging" / "translations"
COMPILED = ROOT / "resources" / "translations"
PATTERNS = COMPILED / "core_texts.txt"
LANGUAGES = ("de", "zh_CN")


@dataclass(frozen=True, slots=True)
class Translated:
    """What is said for one message: one text, or one for each plural form."""

    forms: tuple[str, ...]
    is_finished: bool


@cache
def catalog(language: str) -> Mapping[Message, Translated]:
    """Return all messages of a language's file."""
    tree = ElementTree.parse(SOURCES / f"desktop_agent_{language}.ts")
    found: dict[Message, Translated] = {}
    for context in tree.iter("context"):
        for message in context.iter("message"):
            source = Message(
                context.findtext("name", ""), message.findtext("source", ""), message.get("numerus") == "yes"
            )
            said = message.find("translation")
            assert said is not None
            forms = [form.text or "" for form in said.iter("numerusform")] if source.is_plural else [said.text or ""]
            found[source] = Translated(tuple(forms), said.get("type") is None and all(forms))
    return found


_TOOLS = Path(sysconfig.get_path("scripts"))


def source_for_lupdate() -> str:
    """Return a class for each context, with a plain call for each of its texts: nothing that `lupdate` would miss."""
    lines: list[str] = []
    for context, messages in groupby(sorted_messages(window_texts()), lambda message: message.context):
        lines += [f"class {context}:", "    def texts(self, n):", *map(_call, messages), ""]
    return "\n".join(lines)


def _call(message: Message) -> str:
    count = ', "", n' if message.is_plural else ""
    return f"        self.tr({json.dumps(message.source, ensure_ascii=False)}{count})"


def update(languages: Sequence[str]) -> None:
    """Merge the texts into the files of these languages, and compile them."""
    PATTERNS.write_text(core_patterns(), encoding="utf-8")
    with TemporaryDirectory() as folder:
        texts = Path(folder) / "texts.py"
        texts.write_text(source_for_lupdate(), encoding="utf-8")
        for language in languages:
            file = SOURCES / f"desktop_agent_{language}.ts"
            merge = ("-source-language", "en", "-target-language", language, "-locations", "none", "-no-obsolete")
            _run("lupdate", texts, "-ts", file, *merge, "-disable-heuristic", "similartext", "-silent")
            _run("lrelease", file, "-silent", "-qm", COMPILED / f"desktop_agent_{language}.qm")


def _run(tool: str, *arguments: str | Path) -> None:
    subprocess.run([_TOOLS / f"pyside6-{tool}", *arguments], check=True)  # noqa: TID251 - no loop runs here


def language_code(text: str) -> str:
    """Return `text` if it is written as Qt names languages: `fr` or `pt_BR`."""
    if re.fullmatch(r"[a-z]{2,3}(_[A-Z][a-z]{3})?(_[A-Z]{2})?", text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a language code: write it as in fr or pt_BR")
    return text


def main(arguments: Sequence[str]) -> int:
    """Update everything, and say what is to be translated. Returns 1 while something is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("languages", nargs="*", type=language_code, help="languages to add, as in fr or pt_BR")
    languages = sorted({*LANGUAGES, *parser.parse_args(arguments).languages})
    update(languages)
    open_ = [
        (language, message)
        for language in languages
        for message, said in catalog(language).items()
        if not said.is_finished
    ]
    for language, message in open_:
        print(f"{language}: {message.context}: {message.source!r}")
    print(f"{len(open_)} texts to translate in {SOURCES.name}/*.ts" if open_ else "Everything is translated.")
    return 1 if open_ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
