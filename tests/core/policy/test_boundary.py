"""Paths on a real disk that lead, or only seem to lead, out of the workspace."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.policy.boundary import Boundary, as_listed, misread_by_windows


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    for folder in (root / ".git", root / "sub", tmp_path / "beside", tmp_path / "shared"):
        folder.mkdir(parents=True)
    (root / ".git" / "config").write_text("x")
    (tmp_path / "shared" / "doc.md").write_text("x")
    (root / "out").symlink_to(tmp_path / "beside")
    (root / "in").symlink_to(root / "sub")
    (root / "hidden").symlink_to(root / ".git")
    (root / "loop").symlink_to(root / "loop")
    return root


@pytest.mark.parametrize(
    "path", ["../beside/x", "/etc/passwd", "out/x", "sub/../../beside", "in/../../beside/x", "~root/x/../../..", "out"]
)
def test_what_leads_outside_is_refused(root: Path, path: str) -> None:
    """Z-63, Z-90: symlinks and `..` are followed for real, relative to the workspace.

    S-04, Z-95: whatever is outside is refused, so no list of system folders has to be complete.
    """
    for resolve in (Boundary(root).for_reading, Boundary(root).for_writing):
        with pytest.raises(ToolError, match="outside the workspace"):
            resolve(path)


@pytest.mark.parametrize(("path", "relative"), [("a..b", "a..b"), ("in/x", "sub/x"), ("sub/../a", "a"), ("./a", "a")])
def test_what_only_looks_like_it_leads_outside_is_fine(root: Path, path: str, relative: str) -> None:
    assert Boundary(root).for_writing(path).relative == relative


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("~", "is outside the workspace"),
        ("~/f.txt", "is outside the workspace"),
        ("~/work/sub/f.txt", "Write 'sub/f.txt'"),
        ("$HOME/f.txt", "$HOME is not expanded"),
        ("${HOME}/f.txt", "${HOME} is not expanded"),
        ("%USERPROFILE%\\f.txt", "%USERPROFILE% is not expanded"),
        ("C:\\Users\\me\\x.txt", "relative to the workspace"),
        ("c:/Users/me/x.txt", "relative to the workspace"),
        ("\\\\server\\share\\x.txt", "relative to the workspace"),
        ("sub\\new\\x.txt", "Write 'sub/new/x.txt'"),
        ("file:///tmp/x.txt", "it is an address"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="there, these are paths")
def test_a_path_of_another_world_is_refused_with_what_to_write(
    root: Path, monkeypatch: pytest.MonkeyPatch, path: str, says: str
) -> None:
    monkeypatch.setenv("HOME", str(root.parent))
    for resolve in (Boundary(root).for_reading, Boundary(root).for_writing):
        with pytest.raises(ToolError) as caught:
            resolve(path)
        assert says in str(caught.value)
        assert caught.value.error_type == "validation"


@pytest.mark.parametrize("path", ['".git/config"', r'".g\151t/x"', '"sub/../.git/x"'])
def test_a_spelling_hides_nothing(root: Path, path: str) -> None:
    with pytest.raises(ToolError, match="edit tools never write"):
        Boundary(root).for_writing(path)
    with pytest.raises(ToolError, match="NUL"):
        Boundary(root).for_writing(r'"a\000b"')


@pytest.mark.parametrize("name", ["~", "~$report.docx", "a\\b", "dev\\x2dlabel.swap", "$x", "50%", "a~", "nobody:x"])
def test_a_name_that_somebody_did_give_is_a_name(root: Path, name: str) -> None:
    (root / name).write_text("x")
    assert Boundary(root).for_writing(name).relative == name


@pytest.mark.parametrize(
    "path", [".git/config", ".git", "hidden/config", "sub/../.git/x", ".GIT/config", ".git./x", "git~1/x"]
)
def test_gits_own_files_are_not_written(root: Path, path: str) -> None:
    with pytest.raises(ToolError, match="edit tools never write"):
        Boundary(root).for_writing(path)


def test_an_allowed_folder_is_read_and_not_written(root: Path) -> None:  # G-08, Z-63
    shared = root.parent / "shared"
    boundary = Boundary(root, (shared,))
    found = boundary.for_reading(str(shared / "doc.md"))
    assert (found.absolute, found.relative) == (shared / "doc.md", str(shared / "doc.md"))
    with pytest.raises(ToolError, match="may be read, but not written"):
        boundary.for_writing(str(shared / "doc.md"))
    with pytest.raises(ToolError, match="outside"):
        boundary.for_reading("out/x")


def test_a_link_into_an_allowed_folder_is_not_written_through(root: Path) -> None:
    shared = root.parent / "shared"
    (root / "docs").symlink_to(shared)
    boundary = Boundary(root, (shared,))
    assert boundary.for_reading("docs/doc.md").absolute == shared / "doc.md"
    with pytest.raises(ToolError, match="not written"):
        boundary.for_writing("docs/new.md")


def test_a_loop_of_links_and_a_name_too_long_are_said(root: Path) -> None:
    for path in ("loop", "x" * 5000):
        with pytest.raises(ToolError):
            Boundary(root).for_writing(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([".git/config", "../beside/x", "out/x", "hidden/config", "/etc/passwd"]),
    st.lists(st.sampled_from(["./{}", "sub/../{}", "in/../{}", "sub/.//../{}", "{}/.", "{}/../x/../x"]), max_size=4),
)
def test_no_rewriting_of_a_path_gets_written(root: Path, path: str, forms: list[str]) -> None:
    for form in forms:
        if not (path.startswith("/") and form.startswith(("./", "sub", "in"))):
            path = form.format(path)
    boundary = Boundary(root)
    try:
        found = boundary.for_writing(path)
    except ToolError:
        return
    assert found.absolute.resolve().is_relative_to(root.resolve())
    assert ".git" not in found.target.relative_to(root).parts


def test_our_own_settings_and_sessions_are_not_written_when_they_lie_in_the_workspace(root: Path) -> None:
    """Opening the home folder puts the rules into the workspace, and edits may be free."""
    config = root / ".config" / "agent"
    boundary = Boundary(root, guarded=(config, root.parent / "elsewhere"))
    for path in (".config/agent/rules.toml", ".config/agent", "sub/../.config/agent/x/y"):
        with pytest.raises(ToolError, match="its own settings and sessions"):
            boundary.for_writing(path)
    config.mkdir(parents=True)
    (root / "link").symlink_to(config)
    with pytest.raises(ToolError, match="its own settings and sessions"):
        boundary.for_writing("link/rules.toml")
    assert boundary.for_writing(".config/other").relative == ".config/other"
    inside = Boundary(root / "sub", guarded=(root,))
    assert inside.for_writing("a").relative == "a", "the demo's folder lies in one of ours"


@pytest.mark.skipif(sys.platform != "linux", reason="needs to know what a descriptor has open")
def test_a_file_that_was_opened_through_a_link_put_there_meanwhile_is_not_used(root: Path) -> None:
    boundary = Boundary(root, [root.parent / "shared"])
    (root / "sub" / "f").write_text("mine")
    (root.parent / "beside" / "f").write_text("SECRET")
    place = boundary.for_reading("sub/f")
    with place.absolute.open("rb") as file:
        boundary.require_opened(file.fileno(), "sub/f")
    (root / "sub").rename(root / "moved")
    (root / "sub").symlink_to(root.parent / "beside")
    with place.absolute.open("rb") as file, pytest.raises(ToolError, match="outside the workspace"):
        boundary.require_opened(file.fileno(), "sub/f")
    with (root.parent / "shared" / "doc.md").open("rb") as file:
        boundary.require_opened(file.fileno(), "../shared/doc.md")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        *((name, "device") for name in ("CON", "aux.txt", "src/nul", "com1.log", "LPT².txt", "prn .c", "conin$")),
        *((name, "another name") for name in ("a.txt.", "a.txt ", "src./a", "a?.txt", 'a".txt', "a\tb")),
        *((name, "stream") for name in ("a.txt:hidden", ".git::$INDEX_ALLOCATION/config", "C:/work/a:b")),
        ("C:a.txt", "current folder of the drive"),
        *((name, "another machine") for name in (r"\\far\share\a", "//far/share/a", r"\\.\pipe\a", r"\\?\C:\work\a")),
    ],
)
def test_what_windows_would_take_for_something_else_is_refused(path: str, why: str) -> None:
    """`aux.txt` is a device there, `a:b` a stream; another machine is sent a password."""
    assert why in misread_by_windows(path, ["C:"])


@pytest.mark.parametrize(
    "path",
    ["a.txt", "..", "../a", ".", "./src/con_.py", "C:\\work\\a.txt", "C:/work/a", "contents", "com10", "é ü.md", ""],
)
def test_ordinary_names_are_usable_on_windows(path: str) -> None:
    assert not misread_by_windows(path, ["C:"])


def test_a_workspace_on_another_machine_stays_usable() -> None:
    assert not misread_by_windows(r"\\Far\Share\a.txt", ["C:", r"\\far\share"])


def test_a_name_in_another_case_is_the_one_that_the_folder_lists(tmp_path: Path) -> None:
    """On Windows and macOS `readme.md` opens `README.md`: to the review they must be one file."""
    (tmp_path / "src").mkdir()
    for name in ("readme.md", "new.md"):
        (tmp_path / "src" / name).touch()  # as if the file system found the listed file under this name, too
    listed = {tmp_path: ["SRC", "src"], tmp_path / "src": ["README.md", "new.md"]}
    found = [
        as_listed(tmp_path / path, tmp_path, listed.__getitem__)
        for path in ("src/readme.md", "src/new.md", "src/no.md")
    ]
    assert [path.relative_to(tmp_path).as_posix() for path in found] == ["src/README.md", "src/new.md", "src/no.md"]
    assert as_listed(tmp_path.parent / "x", tmp_path) == tmp_path.parent / "x"
