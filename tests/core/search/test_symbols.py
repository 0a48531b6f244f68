"""A definition ends where it should, in code of any language and layout."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.search.symbols import (
    CODE_ENDINGS,
    LineSymbol,
    can_be_a_name,
    definitions,
    extent_of,
    likely_lines,
    symbol_in,
)
from desktop_agent.core.tools.files.ripgrep import find_ripgrep

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
def test_definitions_are_found_where_they_are(path: str) -> None:  # T-35
    text, expected = CASES[path]
    assert definitions(path, text.splitlines(keepends=True)) == expected


def test_lines_are_counted_through_a_long_file() -> None:
    lines = ["x = 1\n"] * 999 + ["def late():\n"]
    assert definitions("a.py", lines) == [(999, "late")]


@given(st.sampled_from(sorted(CASES)), st.text(alphabet="aA _*&(){}<>:,.=\t;#", max_size=400))
def test_no_line_is_an_error_or_takes_long(path: str, text: str) -> None:
    definitions(path, [f"{text}\n"])


RIPGREP = find_ripgrep(os.environ) or ""

SYMBOLS: dict[str, list[tuple[str, str, str]]] = {
    "py": [
        ("def load(x):", "function", "load"),
        ("    async def load_all(self) -> None:", "function", "load_all"),
        ("class Store(Base):", "class", "Store"),
        ("MOST_LOADED: Final = 3", "constant", "MOST_LOADED"),
        ("Kind = Literal[1]", "constant", "Kind"),
        ("type Row = int", "type", "Row"),
    ],
    "ts": [
        ("export default class Panel {", "class", "Panel"),
        ("  private async load(id: string): Promise<void> {", "function", "load"),
        ("export const run = async (x) => x;", "function", "run"),
        ("export const MOST_SHOWN: number = 5;", "constant", "MOST_SHOWN"),
        ("export interface Row {", "type", "Row"),
        ("function* walk() {", "function", "walk"),
        ("namespace Shapes {", "module", "Shapes"),
    ],
    "go": [
        ("func (s *Store) Load(x int) error {", "function", "Load"),
        ("type Store struct {", "type", "Store"),
        ("const Most = 3", "constant", "Most"),
        ("\tLeast Kind = iota", "constant", "Least"),
    ],
    "rs": [
        ("pub(crate) async fn load() {}", "function", "load"),
        ("    pub const fn make() -> Self {", "function", "make"),
        ("pub struct Lines<T> {", "type", "Lines"),
        ("pub const MOST: usize = 3;", "constant", "MOST"),
        ("macro_rules! make_it {", "function", "make_it"),
        ("mod parts {", "module", "parts"),
    ],
    "cpp": [
        ("void Store::load(int x) {", "function", "load"),
        ("static struct page *find_page(struct list *all)", "function", "find_page"),
        ("class EXPORTED Store final : public Base {", "class", "Store"),
        ("#define MOST(x) 3", "constant", "MOST"),
        ("static const char *const NAMES[] = {", "constant", "NAMES"),
        ("constexpr int most = 3;", "constant", "most"),
    ],
    "java": [
        ("public final class Store {", "class", "Store"),
        ("    private List<String> load(int x) throws Y {", "function", "load"),
        ("    public static final int MOST = 3;", "constant", "MOST"),
        ("public record Point(int x, int y) {", "type", "Point"),
    ],
    "kt": [("data class Row(val x: Int)", "class", "Row"), ("const val MOST = 3", "constant", "MOST")],
    "php": [("    public function load($x)", "function", "load"), ("const MOST = 3;", "constant", "MOST")],
    "rb": [
        ("module A", "module", "A"),
        ("    def self.load!", "function", "load!"),
        ("  MOST_SHOWN = 3", "constant", "MOST_SHOWN"),
    ],
    "sh": [
        ("load() {", "function", "load"),
        ("function run-it () {", "function", "run-it"),
        ("MOST=3", "constant", "MOST"),
    ],
    "sql": [("CREATE TABLE IF NOT EXISTS page (", "type", "page"), ('create view "v" as', "type", "v")],
    "lua": [("local function load(x)", "function", "load")],
}
LINES = [(ending, line, kind, name) for ending, lines in SYMBOLS.items() for line, kind, name in lines]

NONE = [
    ("py", "    MOST = 3"),
    ("py", "x = 3"),
    ("py", "if load(x):"),
    ("py", "MOST == 3"),
    ("rs", "impl Store {"),
    ("swift", "extension Store {"),
    ("c", "struct page *page;"),
    ("java", "        return load(x);"),
    ("md", "# Load"),
    ("rst", "The class Store"),
    ("js", f"const load = {'x' * 400};"),
    ("json", '{"class": "def x"}'),
]


@pytest.mark.parametrize(("ending", "line", "kind", "name"), LINES)
def test_a_line_says_what_it_defines(ending: str, line: str, kind: str, name: str) -> None:
    found = symbol_in(f"folder/a.{ending}", line)

    assert found is not None
    assert (found.kind, found.name) == (kind, name)
    assert ending in CODE_ENDINGS


@pytest.mark.parametrize(("ending", "line"), NONE)
def test_what_only_looks_like_a_definition_is_none(ending: str, line: str) -> None:
    assert symbol_in(f"a.{ending}", line) is None


@pytest.mark.skipif(not RIPGREP, reason="ripgrep is not installed")
@pytest.mark.parametrize("part", [slice(None), slice(0, 2), slice(-2, None)])
def test_what_ripgrep_looks_for_finds_every_one_of_these_lines(tmp_path: Path, part: slice) -> None:
    for number, (_, line, _, name) in enumerate(LINES):
        lines, typed = tmp_path / f"{number}.txt", name[part].swapcase()
        lines.write_text(f"{line}\r\n")
        patterns = [f"--regexp={pattern}" for pattern in likely_lines(typed)]
        command = [RIPGREP, "--no-config", "--ignore-case", "--count", *patterns, str(lines)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: TID251 - the real program
        assert run.stdout == "1\n", (line, typed, run.stderr)


def test_only_what_a_name_may_contain_is_looked_for() -> None:
    assert all(can_be_a_name(each) for each in ("load_all", "übergabe", "$x", "save!", "run-it"))
    assert not any(can_be_a_name(each) for each in ("", "a b", "a/b", "a.py", "a(", "[", "\\"))


@given(st.sampled_from(CODE_ENDINGS), st.text(alphabet="aA _*&(){}<>:,.=\t;#", max_size=400))
def test_no_line_of_code_is_an_error_or_takes_long(ending: str, line: str) -> None:
    found = symbol_in(f"a.{ending}", line)
    assert found is None or isinstance(found, LineSymbol)


EXTENTS: dict[str, str] = {
    "a function with its decorators and comments": """
before = 1

>@cached
>@limited(3)
># What it does.
>def load(x):
>    if x:
>        return 1
>
>    return 2

after = 3
""",
    "a signature of several lines": """
>def load(
>    x,
>    y,
>) -> int:
>    return 1
def after():
""",
    "a text at the left edge": '''
>def load():
>    text = """
>at the edge
>"""
>    return text
after = 1
''',
    "a method ends before the next one": """
class A:
>    def one(self):
>        pass

    def two(self):
        pass
""",
    "a constant of several lines": """
>TABLE = {
>    1: 2,
>}
after = 1
""",
    "braces": """
>/**
> * Loads.
> */
>export async function load(
>  x: number,
>): Promise<void> {
>  if (x) {
>  } else {
>  }
>}
function after() {}
""",
    "labels and directives at the left edge": """
#include <x>
>class Store {
>public:
>  int x;
>#ifdef Y
>  int y;
>#endif
>};
int after;
""",
    "a brace of its own line": """
>static int load(int x)
>{
>\tif (x)
>\t\tgoto out;
>out:
>\treturn 1;
>}

int after(void)
{
}
""",
    "an end": """
>  def load
>    1
>  end

  def after
  end
""",
    "a macro of several lines": """
>#define MOST(x) \\
>3
#define AFTER 1
""",
    "one line": """
>MOST = 3
after = 1
""",
    "attributes": """
use x;
>/// Keeps lines.
>#[derive(Debug)]
>pub struct Lines {
>    x: u8,
>}
impl Lines {}
""",
}


@pytest.mark.parametrize("name", EXTENTS)
def test_a_definition_goes_from_what_stands_above_it_to_its_end(name: str) -> None:
    lines = EXTENTS[name].strip("\n").split("\n")
    wanted = [number for number, line in enumerate(lines) if line.startswith(">")]
    if name.startswith(("a function with", "a text", "an end")):  # blank lines inside
        wanted = list(range(wanted[0], wanted[-1] + 1))
    plain = [line.removeprefix(">") for line in lines]
    words = ("def ", "function ", "class ", "TABLE", "MOST", "static int", "struct ")
    at = next(number for number in wanted if any(word in plain[number] for word in words))

    assert extent_of(plain, at) == (wanted[0], wanted[-1])


@given(st.lists(st.text(alphabet="a {}()\t\"'#\\@*", max_size=20), min_size=1, max_size=20), st.data())
def test_any_text_has_an_extent_around_the_line(lines: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(lines) - 1))
    first, last = extent_of(lines, at)
    assert 0 <= first <= at <= last < len(lines)
