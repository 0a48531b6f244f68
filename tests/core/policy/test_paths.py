from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.policy.paths import inside, looked_at_closely, sensitivity

GIT = [
    ".git", ".git/config", "a/.git/hooks/x", ".GIT/config", ".Git", ".git./config", ".git /config", "git~1/config",
    ".gi\u200ct/config", ".g\u200dit", ".git::$INDEX_ALLOCATION/config", "./.git", "x/../.git", "a//.git",
]  # fmt: skip
JUDGED = [
    line.split(" ", 1)
    for line in Path(__file__).with_name("names.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
SECRET = [name for verdict, name in JUDGED if verdict == "secret"]
PLAIN = [name for verdict, name in JUDGED if verdict == "plain"]


def test_the_corpus_has_many_names_of_both_kinds() -> None:
    assert min(len(SECRET), len(PLAIN)) > 100
    assert len({name for _, name in JUDGED}) == len(JUDGED)


@pytest.mark.parametrize(("paths", "kind"), [(GIT, "git"), (SECRET, "secret"), (PLAIN, None)])
def test_special_files_are_recognised(paths: list[str], kind: str | None) -> None:
    assert {path: sensitivity(path) for path in paths} == dict.fromkeys(paths, kind)


@pytest.mark.parametrize(
    "added", [".bak", ".old", "-prod", "_staging", ".local", ".2", "~", " (1)", "-prod.bak", ".orig~"]
)
def test_a_copy_of_a_secret_is_a_secret(added: str) -> None:
    assert [name for name in SECRET if sensitivity(name + added) != "secret"] == []


def test_a_pattern_for_secrets_is_one_and_a_pattern_for_everything_is_not() -> None:
    secret = (".env*", "*.pem", "?env.production", ".e[n]v", "{.env}", "client_secret*.json", "src/.envrc?", "*.tfvars")
    plain = ("*", "**", "*.py", "src/*", "*.json", "[a-z]*", "env*", "*.example", ".env*.example", "{a,b}.txt")
    assert [name for name in secret if sensitivity(name) != "secret"] == []
    assert [name for name in plain if sensitivity(name) is not None] == []


def test_what_is_too_long_to_be_a_name_is_not_taken_apart() -> None:
    assert sensitivity(".env" + "-prod" * 50) == "secret"
    assert sensitivity(".env" + "-prod" * 100_000) is None


@given(
    st.sampled_from([*GIT, *SECRET]),
    st.lists(st.sampled_from(["./{}", "x/../{}", "sub//{}"]), max_size=4),
    st.booleans(),
)
def test_no_way_of_writing_makes_a_special_file_ordinary(path: str, forms: list[str], is_upper: bool) -> None:
    kind = sensitivity(path)
    path = path.upper() if is_upper else path
    for form in forms:
        path = form.format(path)
    assert sensitivity(path) == kind


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a", "sub/a"), ("../a", "a"), ("../../a", None), ("/w/a", "a"), ("/w", "."), ("/wx", None),
        ("/etc/passwd", None),
        ("~/a", None), ("x/../../../a", None), ("/w/../etc", None), ("./a/./b", "sub/a/b"),
    ],
)  # fmt: skip
def test_a_path_in_a_command_is_inside_or_not(path: str, expected: str | None) -> None:  # Z-90
    assert inside(path, "/w/sub", "/w") == expected


_NAMES = st.sampled_from(
    [".git", ".GIT", "git~1", ".git ", ".git.", ".ssh", "x", "src", "a.b", "..", ".", "", ".desktop-agent", "docs"]
)
_LAST = st.sampled_from(
    [*SECRET, *PLAIN, *(f"{name}{text}" for name in SECRET for text in ("x", ".y", "A")), "x:y", "a\\.env", "é.pem"]
)


@given(folders=st.lists(_NAMES, max_size=4), name=_LAST, is_upper=st.booleans())
def test_the_quick_look_says_what_the_close_one_says(folders: list[str], name: str, *, is_upper: bool) -> None:
    path = "/".join([*folders, name.upper() if is_upper else name])
    assert sensitivity(path) == looked_at_closely(path)


@given(st.text(max_size=40))
def test_the_quick_look_says_the_same_of_any_text(path: str) -> None:
    assert sensitivity(path) == looked_at_closely(path)
