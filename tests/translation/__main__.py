"""Writes a source file that Qt's `lupdate` reads without missing anything: `python -m tests.translation FILE`.

And `resources/translations/core_texts.txt`, by which the window knows the texts of the core that have values in them.
`packaging/translations.sh` calls it. What `lupdate` itself makes of Python is in ADR 23.
"""

import json
import sys
from itertools import groupby
from pathlib import Path

from tests.translation.catalogues import PATTERNS
from tests.translation.core_texts import core_patterns
from tests.translation.module_texts import Message, sorted_messages
from tests.translation.window_texts import window_texts


def source_for_lupdate() -> str:
    """Return a class for each context, with a plain call for each of its texts."""
    lines: list[str] = []
    for context, messages in groupby(sorted_messages(window_texts()), lambda message: message.context):
        lines += [f"class {context}:", "    def texts(self, n):", *map(_call, messages), ""]
    return "\n".join(lines)


def _call(message: Message) -> str:
    count = ', "", n' if message.is_plural else ""
    return f"        self.tr({json.dumps(message.source, ensure_ascii=False)}{count})"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(source_for_lupdate(), encoding="utf-8")
    PATTERNS.write_text(core_patterns(), encoding="utf-8")
