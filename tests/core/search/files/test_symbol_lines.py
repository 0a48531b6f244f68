"""One line of code says what it defines, in every language; the patterns given to ripgrep find each such line."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.search.files.symbol_lines import (
    CODE_ENDINGS,
    LineSymbol,
    can_be_a_name,
    likely_lines,
    symbol_in,
)
from desktop_agent.core.tools.files.ripgrep import find_ripgrep

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
def test_no_line_is_an_error_or_takes_long(ending: str, line: str) -> None:
    found = symbol_in(f"a.{ending}", line)
    assert found is None or isinstance(found, LineSymbol)
