"""A definition goes to where it ends, in code as people lay it out in any language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.search.files.extents import extent_of

CASES: dict[str, str] = {
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


@pytest.mark.parametrize("name", CASES)
def test_a_definition_goes_from_what_stands_above_it_to_its_end(name: str) -> None:
    lines = CASES[name].strip("\n").split("\n")
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
