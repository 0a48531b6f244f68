"""Which paths are special, however they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.policy.paths import inside, sensitivity

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
