"""Writes `docs/markdown.md` from the suites' results: `python -m tests.docs.markdown_page`."""

from collections import Counter
from itertools import groupby
from pathlib import Path

from tests.ui.chat.markdown.conformance.verdicts import HTML, Verdict, verdicts

PAGE = Path(__file__).parents[2] / "docs" / "markdown.md"

_HEAD = """\
# Markdown in the conversation

<!-- Generated from the suites in tests/ui/chat/markdown/conformance by `python -m tests.docs.markdown_page`. -->

Answers are read as [CommonMark](https://spec.commonmark.org/0.31.2/) with the tables, task lists, strikethrough and
bare web addresses of [GitHub Flavored Markdown](https://github.github.com/gfm/). For each of their
examples, `tests/ui/chat/markdown/conformance` compares what is shown (blocks, indents, markers, languages, text,
styles, links) with the HTML in the specification. Three things in that HTML are translated first:

- a line break in the source is a line break in the conversation;
- a link outside the web (not `http` or `https`) cannot be followed: its target is shown after its text;
- a picture is shown as a link with its description and where it is from, and loaded when you click it. Titles of
  links and pictures are not shown.

Mathematics is shown as it was written: text in `$…$`, `$$…$$`, `\\(…\\)` or `\\[…\\]` is not read as
markdown, and a formula in `$$…$$` or `\\[…\\]` on lines of its own is shown as code. A line above these, and above
fences of LaTeX, Mermaid, PlantUML and Graphviz, says that the source is shown. In a `diff` or `patch` fence,
added and removed lines have the colours of the review. A paragraph, heading or item whose first letter
outside inline code belongs to a right-to-left script is aligned to the right, and inline code in it keeps its order.
Characters that change the writing direction are shown by name, such as `⟨U+202E⟩`. Words that are longer than a line
are broken.
"""


def markdown_page() -> str:
    found = list(verdicts())
    parts = [_HEAD]
    for suite, group in groupby(found, lambda verdict: verdict.suite):
        parts.append(f"## {suite}\n\n{_table(list(group))}")
    reasons: dict[str, list[int]] = {}
    for each in found:
        if each.reason and each.reason != HTML:
            reasons.setdefault(each.reason, []).append(each.example.number)
    lines = [f"- {HTML} ({sum(each.reason == HTML for each in found)} examples)\n"]
    lines += [f"- {reason} ({', '.join(map(str, numbers))})\n" for reason, numbers in reasons.items()]
    parts.append(f"## Intended differences\n\nNumbers are those of CommonMark's examples.\n\n{''.join(lines)}")
    return "\n".join(parts)


def _table(found: list[Verdict]) -> str:
    sections = list(dict.fromkeys(each.example.section for each in found))
    counts = {kind: Counter(each.example.section for each in found if _kind(each) == kind) for kind in range(3)}
    rows = [(section, *(counts[kind][section] for kind in counts)) for section in sections]
    rows.append(("all", *(counts[kind].total() for kind in counts)))
    head = "| section | examples | as specified | HTML as text | other |\n| --- | ---: | ---: | ---: | ---: |\n"
    return head + "".join(
        f"| {section} | {same + html + other} | {same} | {html or ''} | {other or ''} |\n"
        for section, same, html, other in rows
    )


def _kind(verdict: Verdict) -> int:
    return 0 if verdict.is_same else 1 if verdict.reason == HTML else 2


if __name__ == "__main__":
    PAGE.write_text(markdown_page(), encoding="utf-8")
