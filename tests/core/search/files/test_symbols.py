"""Definitions of every family of languages, and nothing that only looks like one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.search.files.symbols import definitions

CASES: dict[str, tuple[str, list[tuple[int, str]]]] = {
    "a.py": (
        "class Session:\n    async def resume(self):\n        return x\nMOST_SHOWN: int = 3\nlocal = 1\nif x(y):\n",
        [(0, "Session"), (1, "resume"), (3, "MOST_SHOWN")],
    ),
    "a.ts": (
        "export default class Panel {\n  private async load(id: string): Promise<void> {\n    if (id) {\n  }\n}\n"
        "export const run = async (x) => x;\nfunction* walk() {}\ninterface Row {}\nconst five = 5;\n"
        "export type Kind = 1;\n",
        [(0, "Panel"), (1, "load"), (5, "run"), (6, "walk"), (7, "Row"), (9, "Kind")],
    ),
    "a.go": (
        "package a\nfunc (s *Store) Load(x int) error {\nfunc Open() {}\ntype Store struct {\n\tx int\n",
        [(1, "Load"), (2, "Open"), (3, "Store")],
    ),
    "a.rs": (
        "pub(crate) async fn load() {}\nimpl<T> Iterator for Lines<T> {\n    fn next() {}\nimpl Store {\nenum Kind {\n"
        "let x = 5;\n",
        [(0, "load"), (1, "Lines"), (2, "next"), (3, "Store"), (4, "Kind")],
    ),
    "a.c": (
        "#define MOST 3\nstatic int *load(struct page *page,\n\t\tint x)\n{\n\treturn use(x);\n}\nstruct page {\n"
        "int later(void);\n",
        [(0, "MOST"), (1, "load"), (6, "page")],
    ),
    "a.cpp": (
        "void Store::load(int x) {\nclass Store {\nnamespace a {\n",
        [(0, "Store::load"), (1, "Store"), (2, "a")],
    ),
    "A.java": (
        "public final class Store {\n    private List<String> load(int x) throws Y {\n        if (x > 1) {\n"
        "        return use(x);\n",
        [(0, "Store"), (1, "load")],
    ),
    "a.kt": ("data class Row(val x: Int)\nsuspend fun load() {\n", [(0, "Row"), (1, "load")]),
    "a.rb": ("module A\n  class B\n    def self.load!\n", [(0, "A"), (1, "B"), (2, "self.load!")]),
    "a.sh": ("load() {\nfunction run-it () {\nload\n", [(0, "load"), (1, "run-it")]),
    "a.md": ("# Where to begin\ntext\n## Next steps\n", [(0, "Where to begin"), (2, "Next steps")]),
    "a.sql": ("CREATE TABLE IF NOT EXISTS page (\ncreate unique index page_x ON page\n", [(0, "page"), (1, "page_x")]),
    "a.lua": ("local function load(x)\n", [(0, "load")]),
    "a.json": ('{"class": "def x"}\n', []),
    "Makefile": ("def:\n", []),
}


@pytest.mark.parametrize("path", CASES)
def test_definitions_are_found_where_they_are(path: str) -> None:
    """T-35."""
    text, expected = CASES[path]
    assert definitions(path, text.splitlines(keepends=True)) == expected


def test_lines_are_counted_through_a_long_file() -> None:
    lines = ["x = 1\n"] * 999 + ["def late():\n"]
    assert definitions("a.py", lines) == [(999, "late")]


@given(st.sampled_from(sorted(CASES)), st.text(alphabet="aA _*&(){}<>:,.=\t;#", max_size=400))
def test_no_line_is_an_error_or_takes_long(path: str, text: str) -> None:
    definitions(path, [f"{text}\n"])
