import pytest

from desktop_agent.core.base.globs import Glob


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.py", "a.py", True),
        ("*.py", "src/deep/a.py", True),
        ("*.py", "a.pyc", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("/src/*.py", "src/a.py", True),
        ("/a.py", "src/a.py", False),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/x/y/a.py", True),
        ("**/a.py", "a.py", True),
        ("**/a.py", "x/a.py", True),
        ("src/**", "src/x/y", True),
        ("src/**", "src", False),
        ("src/", "src/x/y", True),
        ("a?c", "abc", True),
        ("x/a?c", "x/a/c", False),
        ("[a-c].py", "b.py", True),
        ("[!a-c].py", "b.py", False),
        ("[!a-c].py", "d.py", True),
        ("[]a].py", "].py", True),
        (r"\*.py", "*.py", True),
        (r"\*.py", "a.py", False),
        ("*.{ts,tsx}", "a.tsx", True),
        ("{src,lib}/**/*.{c,h}", "lib/x/a.h", True),
        ("{a,b{c,d}}", "bd", True),
        ("a+b(1).txt", "a+b(1).txt", True),
        ("größe*", "größer.txt", True),
        # several stars still match everything
        ("*a*ab", "aaab", True),
        ("*a*b*", "xaxxb", True),
        ("**/a/**/b", "a/a/x/b", True),
        ("**/a/**/a/b", "a/x/a/b", True),
        ("x/**/*a*/**/b", "x/y/cab/z/b", True),
        ("x/**/*a*/**/b", "x/y/z/b", False),
        ("**/*_*_test.py", "a/b_c_d_test.py", True),
        # with naive backtracking each of these would take years
        ("*a" * 30 + "b", "a" * 250, False),
        ("**/" * 50 + "z*", "d/" * 300 + "y", False),
        ("**/a/" * 20 + "b", "a/" * 500 + "c", False),
        ("**/*a*/" * 20 + "b*", "aa/" * 300 + "c", False),
    ],
)
def test_a_pattern_means(pattern: str, path: str, *, expected: bool) -> None:
    assert Glob(pattern).matches(path) is expected


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("node_modules", "a/node_modules/b/c.js", True),
        ("*.egg-info", "x.egg-info/PKG", True),
        ("docs/build", "docs/build/index.html", True),
        ("docs/build", "src/docs/build/index.html", False),
        ("build", "builder/x", False),
    ],
)
def test_a_pattern_covers_what_lies_below(pattern: str, path: str, *, expected: bool) -> None:
    assert Glob(pattern).covers(path) is expected


@pytest.mark.parametrize("pattern", ["", "/", "[a", "{a,b", "a}", "[z-a]"])
def test_a_broken_pattern_is_a_value_error(pattern: str) -> None:
    with pytest.raises(ValueError, match="glob"):
        Glob(pattern)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.py", ("*.py",)),
        ("src/**/*.{ts,tsx}", ("*.ts", "*.tsx")),
        ("src/**", ()),
        ("src/", ()),
        ("*", ()),
        ("{a.py,src/*}", ()),
    ],
)
def test_file_names_never_exclude_what_matches(pattern: str, names: tuple[str, ...]) -> None:
    assert Glob(pattern).file_names == names


@pytest.mark.parametrize("pattern", ["{a,b}" * 30, "{" + "a," * 1000 + "}"])
def test_a_pattern_that_stands_for_millions_is_refused_at_once(pattern: str) -> None:
    with pytest.raises(ValueError, match="alternatives; use fewer braces"):
        Glob(pattern)
