"""Repositories whose settings name canary programs, in every layout of git.

`VECTORS` are the settings that name a program, `LAYOUTS` the places of the repository and the opened folder. Ordinary
git first makes commits, changes, a stash and an upstream; then the repository is armed.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_HOOKS = (
    "post-index-change", "reference-transaction", "post-checkout", "pre-auto-gc", "fsmonitor-watchman", "post-rewrite",
    "pre-commit", "post-commit", "post-merge",
)  # fmt: skip
_SIGNATURE = "-----BEGIN PGP SIGNATURE-----\n \n iQEzBAABCAAdFiEE\n -----END PGP SIGNATURE-----"


@dataclass(frozen=True)
class Vector:
    """One way to name a program. `{run}` stands for the canary's path in all texts."""

    name: str
    config: str = ""
    attributes: str = ""
    extra: Mapping[str, str] = field(default_factory=dict[str, str])
    has_hooks: bool = False
    is_promised: bool = False
    """Whether an object is missing that git would fetch from the remote."""


def _promisor(url: str, more: str = "") -> str:
    return (
        f'[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = evil\n[remote "evil"]\n\turl = {url}\n'
        f"\tpromisor = true\n\tfetch = +refs/heads/*:refs/remotes/evil/*\n{more}"
    )


_FILTER = '[filter "x"]\n\tclean = {run}\n\tsmudge = {run}\n'
VECTORS = (
    Vector("filter_clean", _FILTER, "* filter=x\n"),
    Vector("filter_process", '[filter "x"]\n\tprocess = {run}\n\trequired = true\n', "* filter=x\n"),
    Vector("filter_by_macro", _FILTER, "[attr]plain filter=x\n* plain\n"),
    Vector("filter_by_info_attributes", _FILTER, extra={"info/attributes": "* filter=x\n"}),
    Vector("filter_by_file", f"[core]\n\tattributesFile = {{git}}/list\n{_FILTER}", extra={"list": "* filter=x\n"}),
    Vector("fsmonitor", "[core]\n\tfsmonitor = {run}\n"),
    Vector("fsmonitor_included", "[include]\n\tpath = more\n", extra={"more": "[core]\n\tfsmonitor = {run}\n"}),
    Vector("filter_included", "[include]\n\tpath = more\n", "* filter=x\n", extra={"more": _FILTER}),
    Vector("filter_included_if", '[includeIf "gitdir:**"]\n\tpath = more\n', "* filter=x\n", extra={"more": _FILTER}),
    Vector(
        "worktree_config",
        "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n",
        "* filter=x\n",
        extra={"config.worktree": f"[core]\n\tfsmonitor = {{run}}\n{_FILTER}"},
    ),
    Vector("hooks", has_hooks=True),
    Vector("hooks_path", "[core]\n\thooksPath = {git}/hooks\n", has_hooks=True),
    Vector("diff_external", "[diff]\n\texternal = {run}\n"),
    Vector("diff_command", '[diff "x"]\n\tcommand = {run}\n', "* diff=x\n"),
    Vector("textconv", '[diff "x"]\n\ttextconv = {run}\n\tcachetextconv = true\n', "* diff=x\n"),
    Vector("pager", "[core]\n\tpager = {run}\n[pager]\n\tstatus = {run}\n\tdiff = {run}\n\tstash = {run}\n"),
    Vector("gpg", "[gpg]\n\tprogram = {run}\n[log]\n\tshowSignature = true\n[status]\n\tshowStash = true\n"),
    Vector(
        "gpg_ssh",
        '[gpg]\n\tformat = ssh\n[gpg "ssh"]\n\tprogram = {run}\n\tdefaultKeyCommand = {run}\n'
        "[commit]\n\tgpgSign = true\n[log]\n\tshowSignature = true\n",
    ),
    Vector("upload_pack", _promisor("{git}", "\tuploadpack = {run}\n"), is_promised=True),
    Vector("ssh_command", _promisor("ssh://localhost/x", "[core]\n\tsshCommand = {run}\n"), is_promised=True),
    Vector("ext_remote", _promisor("ext::{run}", '[protocol "ext"]\n\tallow = always\n'), is_promised=True),
    Vector(
        "credential_helper",
        _promisor("http://127.0.0.1:9/x", "[credential]\n\thelper = !{run}\n[core]\n\taskPass = {run}\n"),
        is_promised=True,
    ),
    Vector("git_proxy", _promisor("git://127.0.0.1/x", "[core]\n\tgitProxy = {run}\n"), is_promised=True),
    Vector("remote_vcs", _promisor("x", "\tvcs = evil\n"), is_promised=True),
    Vector(
        "alias",
        "[alias]\n\tstatus = !{run}\n\tdiff = !{run}\n\tls-files = !{run}\n\tfor-each-ref = !{run}\n\tstash = !{run}\n",
    ),
    Vector("merge_driver", '[merge "x"]\n\tdriver = {run}\n', "* merge=x\n"),
    Vector("editor", "[core]\n\teditor = {run}\n[sequence]\n\teditor = {run}\n[interactive]\n\tdiffFilter = {run}\n"),
    Vector("work_tree", f"[core]\n\tworktree = {{top}}\n\tfsmonitor = {{run}}\n{_FILTER}", "* filter=x\n"),
    Vector(
        "alternate_refs",
        "[core]\n\talternateRefsCommand = {run}\n[uploadpack]\n\tpackObjectsHook = {run}\n[gc]\n\tauto = 1\n",
    ),
    Vector("textconv_and_filter", f'[diff "x"]\n\ttextconv = {{run}}\n{_FILTER}', "* filter=x diff=x\n"),
)  # fmt: skip


@dataclass(frozen=True)
class Armed:
    folder: Path
    mark: Path

    @property
    def ran(self) -> str:
        return self.mark.read_text() if self.mark.exists() else ""


def git(at: Path, *arguments: str, text: str | None = None) -> str:
    options = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always")
    environ = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", *options, *arguments]
    return subprocess.check_output(
        command, cwd=at, text=True, input=text or "", stderr=subprocess.DEVNULL, env=environ
    ).strip()


def make_repository(folder: Path, place: Path) -> None:
    pattern = place.parent / "pattern"
    if not pattern.exists():
        _make_pattern(pattern)
    shutil.copytree(pattern, folder, dirs_exist_ok=True)
    _touch_all(folder)


def _make_pattern(folder: Path) -> None:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "src" / "deep").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "gone.txt", "src/c.txt", "src/deep/d.txt"):
        (folder / name).write_text(f"{name}\n" * 20)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    _sign(folder)
    git(folder, "branch", "topic")
    git(folder, "update-ref", "refs/remotes/origin/main", "HEAD~0")
    git(folder, "config", "remote.origin.url", "https://example.org/x")
    git(folder, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    git(folder, "config", "branch.main.remote", "origin")
    git(folder, "config", "branch.main.merge", "refs/heads/main")
    (folder / "a.txt").write_text("stashed\n")
    git(folder, "stash")


def _sign(folder: Path) -> None:
    """Add a signed commit: git calls the configured program to check its signature."""
    head = git(folder, "cat-file", "commit", "HEAD").split("\n\n", 1)
    commit = f"{head[0]}\ngpgsig {_SIGNATURE}\n\nsigned\n"
    git(folder, "update-ref", "HEAD", git(folder, "hash-object", "-t", "commit", "-w", "--stdin", text=commit))


def _touch_all(folder: Path) -> None:
    """Change files so that git must read contents: one changed, one only touched, one gone, one new."""
    (folder / "a.txt").write_text("changed\n")
    os.utime(folder / "b.txt", (1, 1))
    (folder / "gone.txt").unlink(missing_ok=True)
    (folder / "src" / "new.txt").write_text("new\n")


def arm(git_dir: Path, common: Path, top: Path, vector: Vector, place: Path) -> Path:
    """Make the repository name canaries as `vector` says; return the mark that a canary leaves."""
    mark, canary = place / "mark", place / "canary"
    canary.write_text(f'#!/bin/sh\necho "$0 $*" >> {mark}\nexit 1\n')
    canary.chmod(0o755)

    def filled(text: str) -> str:
        return text.replace("{run}", str(canary)).replace("{git}", str(common)).replace("{top}", str(top))

    with (common / "config").open("a") as config:
        config.write(filled(vector.config))
    for name, content in vector.extra.items():
        target = (git_dir if name == "config.worktree" else common) / name
        target.parent.mkdir(exist_ok=True)
        target.write_text(filled(content))
    if vector.attributes:
        (top / ".gitattributes").write_text(vector.attributes)
    if vector.has_hooks:
        (common / "hooks").mkdir(exist_ok=True)
        for name in _HOOKS:
            (common / "hooks" / name).unlink(missing_ok=True)
            (common / "hooks" / name).symlink_to(canary)
    if vector.is_promised:
        _lose_objects(top, common)
    return mark


def _lose_objects(top: Path, common: Path) -> None:
    """Remove the contents of some files: git then asks the remote for them."""
    for name in ("a.txt", "gone.txt", "src/c.txt"):
        oid = git_at(common, top, "rev-parse", f"HEAD:{name}")
        (common / "objects" / oid[:2] / oid[2:]).unlink(missing_ok=True)


def git_at(common: Path, top: Path, *arguments: str) -> str:
    """Ask an armed repository while ignoring its configuration."""
    objects = {"GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"], "GIT_NO_LAZY_FETCH": "1"}
    command = ["git", "-c", "core.fsmonitor=false", f"--git-dir={common}", f"--work-tree={top}", *arguments]
    return subprocess.check_output(command, cwd=top, text=True, env=objects).strip()


# --- layouts ------------------------------------------------------------------------------------------------------

Layout = Callable[[Path, Vector], Armed]


def plain(place: Path, vector: Vector) -> Armed:
    top = place / "ws"
    make_repository(top, place)
    return Armed(top, arm(top / ".git", top / ".git", top, vector, place))


def subfolder(place: Path, vector: Vector) -> Armed:
    return Armed(plain(place, vector).folder / "src", place / "mark")


def worktree(place: Path, vector: Vector) -> Armed:
    top = place / "main"
    make_repository(top, place)
    tree = place / "ws"
    git(top, "worktree", "add", "-q", str(tree), "topic")
    _touch_all(tree)
    mark = arm(top / ".git" / "worktrees" / "ws", top / ".git", tree, vector, place)
    return Armed(tree, mark)


def _with_submodule(place: Path) -> Path:
    make_repository(place / "library", place)
    top = place / "ws"
    make_repository(top, place)
    git(top, "submodule", "add", "-q", str(place / "library"), "lib/sub")
    git(top, "commit", "-qam", "with a submodule")
    _touch_all(top)
    _touch_all(top / "lib" / "sub")
    return top


def submodule_inside(place: Path, vector: Vector) -> Armed:
    top = _with_submodule(place)
    module = top / ".git" / "modules" / "lib" / "sub"
    return Armed(top, arm(module, module, top / "lib" / "sub", vector, place))


def submodule_opened(place: Path, vector: Vector) -> Armed:
    return Armed(submodule_inside(place, vector).folder / "lib" / "sub", place / "mark")


def submodule_replaced(place: Path, vector: Vector) -> Armed:
    """The `.git` file of a submodule points to a bare repository in the workspace."""
    top = _with_submodule(place)
    module = top / "lib" / "sub"
    bare = top / "build" / "cache"
    bare.parent.mkdir()
    (top / ".git" / "modules" / "lib" / "sub").rename(bare)
    git_config = bare / "config"
    git_config.write_text(git_config.read_text().replace("../../../../../lib/sub", str(module)))
    (module / ".git").write_text(f"gitdir: {bare}\n")
    return Armed(top, arm(bare, bare, module, vector, place))


def submodule_planted(place: Path, vector: Vector) -> Armed:
    """A `.git` folder stands in the empty folder of an uninitialised submodule."""
    top = _with_submodule(place)
    module = top / "lib" / "sub"
    git(top, "submodule", "--quiet", "deinit", "--force", "lib/sub")
    make_repository(module, place)
    return Armed(top, arm(module / ".git", module / ".git", module, vector, place))


def bare_below_top(place: Path, vector: Vector) -> Armed:
    """The opened folder below a repository's top has its own `HEAD`, `objects`, `refs` and `config`."""
    top = place / "ws"
    make_repository(top, place)
    folder = top / "src"
    made = place / "made"
    make_repository(made, place)
    for path in (made / ".git").iterdir():
        path.rename(folder / path.name)
    with (folder / "config").open("a") as config:
        config.write("[core]\n\tbare = false\n\tworktree = .\n")
    _touch_all(top)
    return Armed(folder, arm(folder, folder, folder, vector, place))


def bare_plain(place: Path, vector: Vector) -> Armed:
    """The opened folder is in no repository, but has the files of a bare one."""
    folder = place / "ws"
    make_repository(folder, place)
    for path in (folder / ".git").iterdir():
        path.rename(folder / path.name)
    (folder / ".git").rmdir()
    with (folder / "config").open("a") as config:
        config.write("[core]\n\tbare = false\n\tworktree = .\n")
    return Armed(folder, arm(folder, folder, folder, vector, place))


LAYOUTS: tuple[Layout, ...] = (
    plain, submodule_planted, bare_below_top, submodule_opened, worktree, submodule_replaced, subfolder,
    submodule_inside, bare_plain,
)  # fmt: skip
