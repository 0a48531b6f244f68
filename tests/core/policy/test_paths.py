"""Which paths are special, however they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.policy.paths import SECRET_NAMES, inside, looked_at_closely, sensitivity

GIT = [
    ".git", ".git/config", "a/.git/hooks/x", ".GIT/config", ".Git", ".git./config", ".git /config", "git~1/config",
    ".gi\u200ct/config", ".g\u200dit", ".git::$INDEX_ALLOCATION/config", "./.git", "x/../.git", "a//.git",
]  # fmt: skip
SECRET = [
    ".env", ".env.local", "a/.env.production", ".ENV", "key.pem", "server.key", "id_rsa", "id_ed25519",
    ".netrc", ".npmrc",
    ".pypirc", "credentials", "credentials.json", "x.kdbx", "secrets.yaml", ".ssh/config", ".aws/config", "prod.env",
    ".env.", "x/../.env", ".git-credentials",
]  # fmt: skip
ORDINARY = [
    "a.py", ".env.example", ".env.sample", ".env.template", ".gitignore", ".github/x.yml", "environment.py", "git.py",
    "id_rsa.pub", "secrets.py", "keyboard.py", ".", "a/b.git.txt", "monkey.txt", "src/credentials_test.py",
]  # fmt: skip


@pytest.mark.parametrize(("paths", "kind"), [(GIT, "git"), (SECRET, "secret"), (ORDINARY, None)])
def test_special_files_are_recognised(paths: list[str], kind: str | None) -> None:
    assert {path: sensitivity(path) for path in paths} == dict.fromkeys(paths, kind)


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
def test_a_path_in_a_command_is_inside_or_not(path: str, expected: str | None) -> None:
    """Z-90."""
    assert inside(path, "/w/sub", "/w") == expected


_NAMES = st.sampled_from(
    [".git", ".GIT", "git~1", ".git ", ".git.", ".ssh", "x", "src", "a.b", "..", ".", "", ".desktop-agent", "docs"]
)
_LAST = st.sampled_from(
    [name.replace("*", text) for name in SECRET_NAMES for text in ("", "x", ".y", "A")]
    + ["a.py", "id_rsa.pub", ".env.example", "secrets.py", "KEY", "my.KEY", "x:y", "a\\.env", "é.pem", "README"]
)


@given(folders=st.lists(_NAMES, max_size=4), name=_LAST, is_upper=st.booleans())
def test_the_quick_look_says_what_the_close_one_says(folders: list[str], name: str, *, is_upper: bool) -> None:
    path = "/".join([*folders, name.upper() if is_upper else name])
    assert sensitivity(path) == looked_at_closely(path)


@given(st.text(max_size=40))
def test_the_quick_look_says_the_same_of_any_text(path: str) -> None:
    assert sensitivity(path) == looked_at_closely(path)
