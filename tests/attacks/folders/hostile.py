"""Functions that fill a folder with hostile contents. `outside` is a folder beside it that must not change."""

import os
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

Fill = Callable[[Path, Path], None]


def link_loops(folder: Path, _outside: Path) -> None:
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    (folder / "self").symlink_to("self")
    (folder / "dot").symlink_to(".")


def links_to_everything(folder: Path, outside: Path) -> None:
    for name, target in {"root": "/", "home": str(Path.home()), "up": "..", "beside": str(outside)}.items():
        (folder / name).symlink_to(target)


def pipes(folder: Path, _outside: Path) -> None:
    for name in ("pipe", "pipe.py", "README.md", ".gitignore"):
        os.mkfifo(folder / name)


def sockets(folder: Path, _outside: Path) -> None:
    here = Path.cwd()
    os.chdir(folder)  # socket names must be short
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("socket")
    finally:
        os.chdir(here)


def devices(folder: Path, _outside: Path) -> None:
    with suppress(PermissionError):  # only root makes them, and not everywhere
        os.mknod(folder / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
        os.mknod(folder / "tty", stat.S_IFCHR | 0o666, os.makedev(5, 0))


def sparse_terabyte(folder: Path, _outside: Path) -> None:
    with (folder / "huge.bin").open("wb") as file:
        file.truncate(2**40)


def sparse_text(folder: Path, _outside: Path) -> None:
    with (folder / "huge.py").open("wb") as file:
        file.write(b"x = 1\n")
        file.truncate(2**33)


def many_files(folder: Path, _outside: Path) -> None:
    for part in range(20):
        (folder / f"d{part}").mkdir()
        for number in range(500):
            (folder / f"d{part}/f{number}").touch()


def odd_names(folder: Path, _outside: Path) -> None:
    names = [
        "new\nline",
        "\x1b[31mred\x1b[0m",
        "a\tb",
        "bidi\u202etxt.exe",
        "zero\u200bwidth",
        "a" * 255,
        " ",
        "trail ",
        "CON",
    ]
    for name in [*names, "-rf", "--help", "$(touch pwned)", "`touch pwned`", "%s%n", "back\\slash", "*", "~"]:
        (folder / name).write_text("one\n")


def names_that_are_no_text(folder: Path, _outside: Path) -> None:
    for name in (b"\xff\xfe", b"caf\xe9.txt", b"\xed\xa0\x80"):
        (Path(os.fsdecode(os.fsencode(folder) + b"/" + name))).write_text("one\n")
    Path(os.fsdecode(os.fsencode(folder) + b"/dir\xff")).mkdir()


def names_alike(folder: Path, _outside: Path) -> None:
    for name in ("File", "file", "FILE", "caf\u00e9", "cafe\u0301", "plain.txt ", "plain.txt."):
        (folder / name).write_text("one\n")


def deep(folder: Path, _outside: Path) -> None:
    at = os.open(folder, os.O_RDONLY)
    for _ in range(1_000):
        os.mkdir("deeper", dir_fd=at)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)


def unreadable(folder: Path, _outside: Path) -> None:
    (folder / "closed").mkdir()
    (folder / "closed/file").write_text("one\n")
    (folder / "secretive").write_text("one\n")
    (folder / "secretive").chmod(0)
    (folder / "closed").chmod(0)


def git_is_a_pipe(folder: Path, _outside: Path) -> None:
    os.mkfifo(folder / ".git")


def git_is_a_loop(folder: Path, _outside: Path) -> None:
    (folder / ".git").symlink_to(".git")


def git_leads_outside(folder: Path, outside: Path) -> None:
    (outside / "HEAD").write_text("ref: refs/heads/main\n")
    (outside / "objects").mkdir()
    (outside / "refs").mkdir()
    (folder / ".git").write_text(f"gitdir: {outside}\n")


def git_is_half_a_repository(folder: Path, _outside: Path) -> None:
    (folder / ".git").mkdir()
    os.mkfifo(folder / ".git/HEAD")
    os.mkfifo(folder / ".git/index")
    os.mkfifo(folder / ".git/config")


def git_is_empty(folder: Path, _outside: Path) -> None:
    (folder / ".git").mkdir()


def index_is_garbage(folder: Path, _outside: Path) -> None:
    for name in ("objects", "refs/heads"):
        (folder / ".git" / name).mkdir(parents=True)
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git/index").write_bytes(b"DIRC\x00\x00\x00\x02\xff\xff\xff\xff" + b"\x00" * 4_096)


def ignores_without_end(folder: Path, _outside: Path) -> None:
    (folder / ".gitignore").write_text("".join(f"**/a{number}*b?c[d-f]/**\n" for number in range(20_000)))


def a_huge_ignore_file(folder: Path, _outside: Path) -> None:
    with (folder / ".gitignore").open("wb") as file:
        file.write(b"x\n")
        file.truncate(50 * 2**20)


def guidance_without_end(folder: Path, _outside: Path) -> None:
    with (folder / "AGENTS.md").open("wb") as file:
        file.write(b"Be kind.\n")
        file.truncate(2**30)


def guidance_is_a_pipe(folder: Path, _outside: Path) -> None:
    os.mkfifo(folder / "AGENTS.md")


def guidance_leads_outside(folder: Path, outside: Path) -> None:
    (outside / "private").write_text("the secret word is swordfish\n")
    (folder / "AGENTS.md").symlink_to(outside / "private")


def instructions_in_a_circle(folder: Path, outside: Path) -> None:
    (outside / "private.md").write_text("the secret word is swordfish\n")
    (folder / "CLAUDE.md").write_text(f"@CLAUDE.md @docs/a.md @{outside}/private.md @/etc/passwd @~/.ssh/id_rsa\n")
    (folder / "docs").mkdir()
    for one, other in (("a", "b"), ("b", "a")):
        (folder / f"docs/{one}.md").write_text(f"{one} @{other}.md @../CLAUDE.md @../{outside.name}/private.md\n")
    (folder / "GEMINI.md").write_bytes(b"\0" * 4_096 + b"@\0.md \xff")


def instructions_without_end(folder: Path, outside: Path) -> None:
    rules = folder / ".claude/rules"
    rules.mkdir(parents=True)
    for number in range(1_000):
        (rules / f"{number}.md").write_text("---\npaths: '{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}'\n---\n")
    (folder / ".claude/CLAUDE.md").write_text("`" * 20_000 + "<!--" * 2_000 + "@x" * 2_000)
    (folder / ".cursor").symlink_to(outside)
    (folder / ".github").mkdir()
    os.mkfifo(folder / ".github/copilot-instructions.md")


def settings_are_a_pipe(folder: Path, _outside: Path) -> None:
    (folder / ".desktop-agent").mkdir()
    os.mkfifo(folder / ".desktop-agent/config.toml")


def settings_without_end(folder: Path, _outside: Path) -> None:
    (folder / ".desktop-agent").mkdir()
    with (folder / ".desktop-agent/config.toml").open("wb") as file:
        file.truncate(2**30)


def settings_lead_outside(folder: Path, outside: Path) -> None:
    (outside / "config.toml").write_text("[execution]\napproval = 'always'\n")
    (folder / ".desktop-agent").symlink_to(outside)


def commands_are_pipes(folder: Path, _outside: Path) -> None:
    (folder / ".desktop-agent/commands").mkdir(parents=True)
    os.mkfifo(folder / ".desktop-agent/commands/review.md")


def hard_links(folder: Path, outside: Path) -> None:
    for name in ("index.js", "package.json"):
        (outside / name).write_text("one\n")
        os.link(outside / name, folder / name)


def a_file_system_inside(folder: Path, _outside: Path) -> None:
    (folder / "process").symlink_to("/proc/self")
    (folder / "system").symlink_to("/sys")


def our_left_overs(folder: Path, _outside: Path) -> None:
    for number in range(50):
        (folder / f".desktop-agent-{number:016x}.tmp").write_text("one\n")
    (folder / ".desktop-agent-0.tmp").mkdir()


FOLDERS: tuple[Fill, ...] = (
    *(pipes, link_loops, links_to_everything, sockets, devices, sparse_terabyte, sparse_text, many_files, odd_names),
    *(names_that_are_no_text, git_is_half_a_repository, names_alike, deep, unreadable, git_is_a_pipe, git_is_a_loop),
    *(git_leads_outside, git_is_empty, index_is_garbage, ignores_without_end, settings_are_a_pipe, a_huge_ignore_file),
    *(guidance_without_end, guidance_is_a_pipe, guidance_leads_outside, settings_without_end, settings_lead_outside),
    *(instructions_in_a_circle, instructions_without_end, commands_are_pipes, hard_links, a_file_system_inside),
    our_left_overs,
)
