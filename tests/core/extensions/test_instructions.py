"""Instructions: whose files are read, in which order, within which limits, and what is refused."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.extensions.instructions import (
    MAX_BYTES,
    MAX_IMPORT_DEPTH,
    MAX_IMPORTS,
    MAX_PROBLEMS,
    MAX_RULES,
    ROOM,
    InstructionReader,
    Instructions,
    fitted,
    is_of_others,
    outside_imports,
    with_imports,
)
from desktop_agent.core.extensions.untrusted import SecretAt
from desktop_agent.core.protocol.model import GuidanceFile, GuidanceScope
from desktop_agent.core.tools.secret_files import SecretNames
from tests.core.extensions.homes import homes_in
from tests.file_dates import LONG_AGO_NS, TO_COME_NS, put_date


def secrets_in(folder: Path) -> SecretAt:
    return lambda path, status: SecretNames(folder).secret_at(path, status)


class Folders:
    """A workspace inside a repository, and the user's home beside it."""

    def __init__(self, base: Path) -> None:
        base = base.resolve()
        self.top = base / "repository"
        self.root = self.top / "packages" / "app"
        self.home = base / "home"
        self.mine = self.home / "config"
        self.root.mkdir(parents=True)
        self.mine.mkdir(parents=True)
        homes = homes_in(self.home, self.mine)
        self.trusted: set[str] = set()
        self.reader = InstructionReader(self.root, homes, secrets_in, self.trusted.__contains__)
        self.last = Instructions()

    def init_git(self) -> None:
        for name in ("objects", "refs"):
            (self.top / ".git" / name).mkdir(parents=True)
        (self.top / ".git" / "HEAD").write_text("ref: refs/heads/main\n")

    def write(self, path: str, content: str | bytes, folder: Path | None = None) -> Path:
        target = (folder or self.root) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target

    def read(self, *touched: str, off: Sequence[str] = ()) -> dict[str, str]:
        """Return the texts by path, given what was in force at the last reading."""
        known = [file for file in self.last.files if file.scope == "folder"]
        self.last = self.reader.read(known, touched, off)
        return {file.path: file.text for file in self.last.files}

    def files(self, *touched: str) -> dict[str, GuidanceFile]:
        self.read(*touched)
        return {file.path: file for file in self.last.files}

    def problems(self, *touched: str) -> list[str]:
        self.read(*touched)
        return [f"{problem.path}: {problem.reason}" for problem in self.last.problems]


@pytest.fixture
def at(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


# -- who is read, and in which order --


def test_the_persons_own_comes_first_then_the_workspaces_then_those_of_folders(at: Folders) -> None:
    (at.mine / "AGENTS.md").write_text("mine")
    at.write("AGENTS.md", "root")
    at.write("src/AGENTS.md", "src")
    assert [(file.scope, file.text) for file in at.files("src/a.py", "none/b.py").values()] == [
        ("person", "mine"),
        ("workspace", "root"),
        ("folder", "src"),
    ]


def test_nothing_there_is_nothing_wrong(at: Folders) -> None:
    assert at.read() == {}
    assert at.last.problems == ()


def test_all_of_the_persons_files_are_read_ours_last_and_the_same_text_once(at: Folders) -> None:
    at.write(".claude/CLAUDE.md", "for Claude\n", at.home)
    at.write(".claude/rules/python.md", "---\npaths: '**/*.py'\n---\nfor Python", at.home)
    at.write(".codex/AGENTS.md", "for Codex", at.home)
    at.write(".codex/AGENTS.override.md", "for Codex now", at.home)
    at.write(".agents/AGENTS.md", "for all", at.home)
    at.write("AGENTS.md", "for us", at.mine)
    assert list(at.read().values()) == ["for Claude\n", "for Codex now", "for all", "for us"]
    at.write("AGENTS.md", "for Claude", at.mine)
    assert list(at.read().values()) == ["for Codex now", "for all", "for Claude"]
    assert list(at.read("src/a.py").values())[-1] == "for Python"


def test_the_repository_is_read_from_its_top_down_to_the_folder_and_nothing_above(at: Folders) -> None:
    for folder, text in ((at.top.parent, "outside"), (at.top, "top"), (at.root.parent, "middle"), (at.root, "root")):
        at.write("AGENTS.md", text, folder)
    assert at.read() == {"AGENTS.md": "root"}, "without a repository, the workspace is all there is"
    at.init_git()
    assert at.read() == {"../../AGENTS.md": "top", "../AGENTS.md": "middle", "AGENTS.md": "root"}
    assert {file.scope for file in at.last.files} == {"workspace"}
    at.write("AGENTS.override.md", "instead", at.root.parent)
    assert list(at.read().values()) == ["top", "instead", "root"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives a folder away")
def test_a_repository_of_another_user_brings_nothing(at: Folders) -> None:
    at.init_git()
    at.write("AGENTS.md", "theirs", at.top)
    at.write("AGENTS.md", "root")
    os.chown(at.top, 4_321, -1)
    assert at.read() == {"AGENTS.md": "root"}


def test_what_was_written_for_other_agents_is_read_too_agents_md_last(at: Folders) -> None:
    at.write("AGENTS.md", "agents")
    at.write("CLAUDE.local.md", "local")
    at.write("CLAUDE.md", "claude")
    at.write(".claude/CLAUDE.md", "claude inside")
    at.write(".claude/rules/tests/all.md", "rule")
    at.write("GEMINI.md", "gemini")
    at.write(".github/copilot-instructions.md", "copilot")
    at.write(".github/instructions/all.instructions.md", "---\napplyTo: '**'\n---\ncopilot too")
    at.write(".cursor/rules/all.mdc", "---\nalwaysApply: true\n---\ncursor")
    at.write(".cursor/rules/by-hand.mdc", "---\ndescription: sometimes\n---\nnot by itself")
    assert list(at.read().values()) == [
        *("cursor", "copilot too", "copilot", "gemini", "rule", "claude inside", "claude", "agents", "local"),
    ]
    assert [file.path for file in at.last.files if not is_of_others(file)] == ["AGENTS.md"]


@pytest.mark.parametrize("text", ["use tabs\n", "@AGENTS.md\n", "<!-- see there -->\n@./AGENTS.md"])
def test_what_is_the_same_as_agents_md_or_only_imports_it_is_left_out(at: Folders, text: str) -> None:
    at.write("AGENTS.md", "use tabs")
    at.write("CLAUDE.md", text)
    (at.root / "GEMINI.md").symlink_to("AGENTS.md")
    assert at.read() == {"AGENTS.md": "use tabs"}


def test_agents_md_imports_nothing_so_its_text_stays(at: Folders) -> None:
    at.write("AGENTS.md", "@CLAUDE.md")
    at.write("CLAUDE.md", "use tabs")
    assert at.read() == {"CLAUDE.md": "use tabs", "AGENTS.md": "@CLAUDE.md"}


def test_an_overridden_file_does_not_come_back_by_an_import(at: Folders) -> None:
    at.write("AGENTS.md", "old")
    at.write("AGENTS.override.md", "new")
    at.write("CLAUDE.md", "@AGENTS.md")
    assert at.read() == {"AGENTS.override.md": "new"}


def test_a_folders_files_come_when_one_in_it_is_touched_and_stay(at: Folders) -> None:
    at.write("src/AGENTS.md", "agents")
    at.write("src/CLAUDE.md", "see @../docs/style.md")
    at.write("docs/style.md", "style")
    at.write("docs/AGENTS.md", "nobody was here")
    at.write("src/.claude/rules/all.md", "rule")
    assert at.read("README.md") == {}
    found = ["src/.claude/rules/all.md", "src/CLAUDE.md", "docs/style.md", "src/AGENTS.md"]
    assert list(at.read("src/deep/a.py")) == found
    assert [file.holds_for for file in at.last.files] == ["src/", "", "src/", ""]
    assert list(at.read()) == found
    (at.root / "src/CLAUDE.md").unlink()
    assert list(at.read()) == ["src/.claude/rules/all.md", "src/AGENTS.md"]


RULES = {
    ".claude/rules/a.md": 'paths:\n  - "src/**/*.{ts,tsx}"\n  - "*.sql"',
    ".github/instructions/a.instructions.md": "applyTo: 'src/**/*.ts,src/**/*.tsx, *.sql'",
    ".cursor/rules/a.mdc": "description:\nglobs: src/**/*.{ts,tsx},*.sql\nalwaysApply: false",
}


@pytest.mark.parametrize("path", RULES)
def test_a_rule_for_some_files_comes_when_one_is_touched_and_stays(at: Folders, path: str) -> None:
    at.write(path, f"---\n{RULES[path]}\n---\nNo any.")
    assert at.read("src/a.py", "a.ts") == {}
    assert at.read(str(at.root / "src/deep/a.tsx")) == {path: "No any."}
    assert at.last.files[0].scope == "folder"
    assert "src/**/*" in at.last.files[0].holds_for
    assert at.read() == {path: "No any."}
    at.last = Instructions()
    assert at.read("db/one.sql") == {path: "No any."}


def test_rules_above_the_workspace_are_for_paths_as_seen_from_there(at: Folders) -> None:
    at.init_git()
    at.write(".claude/rules/app.md", "---\npaths: packages/app/**/*.ts\n---\nNo any.", at.top)
    assert at.read("a.py") == {}
    assert at.read("src/a.ts") == {"../../.claude/rules/app.md": "No any."}


def test_a_rule_that_cannot_be_understood_is_named(at: Folders) -> None:
    at.write(".claude/rules/a.md", "---\npaths: '[z-a]'\n---\nNo any.")
    at.write(".claude/rules/b.md", "---\npaths: [a\n---\nNo any.")
    assert [problem[:18] for problem in at.problems("a.ts")] == [
        ".claude/rules/a.md",
        ".claude/rules/b.md",
    ]


# -- imports --


def test_imports_are_followed_and_each_file_comes_once(at: Folders) -> None:
    at.write("CLAUDE.md", "@docs/a.md, @docs/with\\ blank.md.\n<!-- @docs/not.md\n-->\nmail@docs/not.md @nobody")
    at.write("docs/a.md", "a @b.md @../CLAUDE.md")
    at.write("docs/b.md", "b @a.md @./b.md")
    at.write("docs/not.md", "not")
    at.write("docs/with blank.md", "blank")
    assert list(at.read()) == ["CLAUDE.md", "docs/a.md", "docs/b.md", "docs/with blank.md"]
    assert "not.md\n" not in at.last.files[0].text
    assert at.last.problems == ()


def test_imports_are_followed_five_deep(at: Folders) -> None:
    at.write("CLAUDE.md", "0 @1.md")
    for number in range(1, 9):
        at.write(f"{number}.md", f"{number} @{number + 1}.md")
    assert len(at.read()) == 1 + MAX_IMPORT_DEPTH
    assert "5 levels deep" in at.problems()[0]


@pytest.mark.parametrize(
    "text",
    [
        "`@a.md`",
        "``code ` @a.md ``",
        "```\n@a.md\n```",
        "~~~md\n```\n@a.md\n~~~\n",
        "```\n@a.md",
        "<!-- @a.md",
        "x@a.md",
    ],
)
def test_what_is_code_or_a_comment_imports_nothing(text: str) -> None:
    assert with_imports(text)[1] == ()


@pytest.mark.parametrize(
    "text", ["@a.md", "a `b` @a.md `c`", "`\n\n@a.md `", "```\nx\n```\n@a.md", "- @a.md", "**@a.md**"]
)
def test_what_is_text_imports(text: str) -> None:
    assert with_imports(text)[1] == ("a.md",)


@given(st.text(alphabet="`~<!->@a. \n\\"))
def test_without_comments_the_text_is_as_it_was(text: str) -> None:
    found, _ = with_imports(text)
    assert found == text or "<!--" in text


def test_an_import_from_outside_of_the_folder_is_not_read_but_the_persons_own_is(at: Folders) -> None:
    at.write("secret.md", "the secret", at.home)
    at.write("CLAUDE.md", f"project @~/secret.md @../../../home/secret.md @{at.home}/secret.md")
    at.write(".claude/CLAUDE.md", "mine", at.home)
    assert "the secret" not in at.read().values()
    assert len(at.problems()) == 3
    at.write(".claude/CLAUDE.md", "mine @~/secret.md", at.home)
    assert "the secret" in at.read().values()


def test_an_import_from_the_home_folder_waits_for_trust_in_just_this_file(at: Folders) -> None:
    at.write("notes/mine.md", "my notes @other.md", at.home)
    at.write("notes/other.md", "other notes", at.home)
    at.write("CLAUDE.md", "project @~/notes/mine.md")
    assert list(at.read()) == ["CLAUDE.md"]
    assert "waits until you trust the project" in at.problems()[0]
    at.trusted.add("~/notes/mine.md")
    assert list(at.read()) == ["CLAUDE.md", str(at.home / "notes/mine.md")]
    assert ["`other.md`, which it imports" in problem for problem in at.problems()] == [True]
    at.read(off=[str(at.home / "notes/mine.md")])
    assert [file.path for file in at.last.off] == [str(at.home / "notes/mine.md")]


@pytest.mark.parametrize(
    "name", ["keys.json", ".ssh/id.md", "notes/.env", ".aws/notes.md", "config.toml", "link.md", "../outside.md"]
)
def test_trust_lets_nothing_be_imported_that_may_hold_secrets(at: Folders, name: str) -> None:
    at.write(".ssh/id.md", "the secret", at.home)
    at.write(name, "the secret", at.home)
    if name == "link.md":
        (at.home / name).unlink()
        (at.home / name).symlink_to(".ssh/id.md")
    at.trusted |= {f"~/{name}", "~/.ssh/id.md", str(at.home.parent / "outside.md")}
    at.write("CLAUDE.md", f"project @~/{name}")
    assert list(at.read().values()) == [f"project @~/{name}"]
    assert len(at.problems()) == 1


def test_the_question_of_trust_names_each_document_outside_once(at: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(at.home))
    for name in ("a.md", "b.md", "c.json"):
        at.write(name, "text", at.home)
    at.write("docs/inside.md", "inside")
    at.write("CLAUDE.md", "@~/a.md `@~/b.md` @docs/inside.md @~/c.json @~/missing.md")
    at.write("CLAUDE.local.md", f"@~/b.md @{at.home}/a.md")
    os.link(at.write(".env", "@~/b.md"), at.root / "GEMINI.md")
    items = list(outside_imports(at.reader))
    assert [(item.kind, item.name, item.path.name) for item in items] == [
        ("import", "~/a.md", "CLAUDE.md"),
        ("import", "~/b.md", "CLAUDE.local.md"),
    ]
    assert len({item.digest for item in items}) == 2


def test_the_question_names_what_is_imported_by_what_is_imported_and_the_answer_lets_it_in(at: Folders) -> None:
    at.init_git()
    at.write("deep.md", "deepest", at.home)
    at.write("a.md", "mine @deep.md @a.md", at.home)
    for name in ("b.md", "c.md"):
        at.write(name, "mine", at.home)
    at.write("docs/inside.md", "inside @~/a.md")
    at.write("CLAUDE.md", "@docs/inside.md")
    at.write(".claude/rules/all.md", "rule @~/b.md")
    at.write("CLAUDE.md", "above @~/c.md", at.top)
    names = [item.name for item in outside_imports(at.reader)]
    assert sorted(names) == ["~/a.md", "~/b.md", "~/c.md", "~/deep.md"]
    at.trusted |= set(names)
    assert {"deepest", "mine @deep.md @a.md"} <= set(at.read().values())
    assert not at.problems()


def test_imports_in_circles_and_in_great_numbers_end(at: Folders) -> None:
    at.write("CLAUDE.md", "@a.md @b.md")
    at.write("a.md", "@b.md @a.md")
    at.write("b.md", "@a.md " + " ".join(f"@~/{number}.md" for number in range(300)))
    for number in range(300):
        at.write(f"{number}.md", "x", at.home)
    assert 0 < len(list(outside_imports(at.reader))) <= MAX_IMPORTS


def test_a_file_of_the_repository_above_the_workspace_is_imported(at: Folders) -> None:
    at.write("docs/style.md", "style", at.top)
    at.write("CLAUDE.md", "See @../../docs/style.md")
    assert "style" not in at.read().values()
    at.init_git()
    assert at.read()["../../docs/style.md"] == "style"


# -- switched off --


def test_what_is_switched_off_is_told_but_not_sent_nor_are_its_imports_and_copies(at: Folders) -> None:
    at.write("AGENTS.md", "use tabs")
    at.write("CLAUDE.md", "claude @docs/a.md")
    at.write("GEMINI.md", "use tabs")
    at.write("docs/a.md", "a")
    assert at.read(off=[str(at.root / "AGENTS.md"), "CLAUDE.md"]) == {}
    assert {file.path for file in at.last.off} == {"AGENTS.md", "CLAUDE.md"}
    assert at.read(off=["docs/*.md"]).keys() == {"AGENTS.md", "CLAUDE.md"}
    assert at.read(off=["/**"]) == {}
    assert at.read(off=["[", "", "~nobody/x", "elsewhere/AGENTS.md"]).keys() == {"AGENTS.md", "CLAUDE.md", "docs/a.md"}


def test_what_is_switched_off_in_a_folder_is_told_also_before_anything_is_touched(at: Folders) -> None:
    at.write("src/AGENTS.md", "src")
    at.write(".claude/rules/a.md", "---\npaths: '*.ts'\n---\nNo any.")
    at.write("docs/AGENTS.md", "nobody was here")
    at.write("docs/style.md", "style")
    off = [str(at.root / name) for name in ("src/AGENTS.md", ".claude/rules/a.md", "docs/style.md")]
    assert at.read(off=off) == {}
    assert {file.path for file in at.last.off} == {"src/AGENTS.md", ".claude/rules/a.md"}


# -- limits --


def test_a_file_is_read_again_only_when_it_changed(at: Folders) -> None:
    path = at.write("AGENTS.md", "one")
    put_date(path, LONG_AGO_NS)
    first = at.reader.content(path, at.root)
    assert at.reader.content(path, at.root) is first
    path.write_text("other")
    assert at.read() == {"AGENTS.md": "other"}
    path.unlink()
    assert at.read() == {}


def test_a_change_within_one_step_of_the_files_clock_is_noticed(at: Folders) -> None:
    for text in ("one", "two"):
        put_date(at.write("AGENTS.md", text), TO_COME_NS)
        assert at.read()["AGENTS.md"] == text


def test_a_long_file_is_cut_between_two_characters_and_says_so(at: Folders) -> None:
    at.write("AGENTS.md", "x" + "ł" * MAX_BYTES)
    file = at.files()["AGENTS.md"]
    assert file.is_cut
    assert file.text == "x" + "ł" * (MAX_BYTES // 2 - 1)
    assert at.problems() == ["AGENTS.md: it has more than 32 KiB"]


def test_the_farthest_is_cut_first_and_said(at: Folders) -> None:
    at.init_git()
    for folder in (at.top, at.root.parent, at.root):
        at.write("AGENTS.md", folder.name[0] * (MAX_BYTES - 100), folder)
    at.write("AGENTS.md", "mine", at.mine)
    files = at.files()
    assert [len(file.text) for file in files.values()] == [4, 200, MAX_BYTES - 100, MAX_BYTES - 100]
    assert files["../../AGENTS.md"].is_cut
    [problem] = at.problems()
    assert problem.startswith("../../AGENTS.md: the instructions have more than 64 KiB together")


def test_what_is_in_the_conversation_stays_when_folders_bring_too_much(at: Folders) -> None:
    names = [f"f{number}" for number in range(6)]
    for name in names:
        at.write(f"{name}/AGENTS.md", name[-1] * (MAX_BYTES - 10))
    after: dict[str, str] = {}
    for name in names:
        before = at.read()
        after = at.read(f"{name}/a.py")
        assert {path: after[path] for path in before} == before
    assert sum(map(len, after.values())) == ROOM["folder"]
    assert any(problem.startswith("f5/AGENTS.md") for problem in at.problems("f5/a.py"))


@given(st.sampled_from(list(ROOM)), st.lists(st.tuples(st.integers(0, 40_000), st.sampled_from("xł𝄞")), max_size=12))
def test_the_first_are_whole_one_may_be_cut_and_the_rest_is_gone(
    scope: GuidanceScope, sizes: list[tuple[int, str]]
) -> None:
    files = [
        GuidanceFile(path=str(number), scope=scope, text=sign * length) for number, (length, sign) in enumerate(sizes)
    ]
    kept = fitted(files)
    assert sum(len(file.text.encode()) for file in kept.values()) <= ROOM[scope]
    assert list(kept) == sorted(kept, key=int)
    cut = [file for file in kept.values() if file.is_cut]
    assert all(files[int(path)].text.startswith(file.text) for path, file in kept.items())
    if missing := [file for file in files if file.text and kept.get(file.path) != file]:
        used = sum(len(file.text.encode()) for file in kept.values())
        assert used > ROOM[scope] - 4, "nothing is cut while there is room"
        assert [file.path for file in cut] in ([], [missing[0].path])
        assert all(file.path not in kept for file in missing[1:])
    else:
        assert cut == []


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_mark_at_the_beginning_says_how_it_is_written(at: Folders, encoding: str) -> None:
    at.write("AGENTS.md", "Zażółć".encode(encoding))
    assert at.read()["AGENTS.md"] == "Zażółć"


def test_what_is_not_text_is_named(at: Folders) -> None:
    at.write("AGENTS.md", b"caf\xe9")
    assert at.read()["AGENTS.md"] == "caf\ufffd"
    assert "not text in UTF-8" in at.problems()[0]


# -- what a hostile folder tries --


def test_a_link_inside_the_workspace_is_followed_and_one_out_of_it_is_not(at: Folders) -> None:
    at.write("shared.md", "shared")
    (at.root / "AGENTS.md").symlink_to("shared.md")
    assert at.read()["AGENTS.md"] == "shared"
    outside = at.write("secret", "secret", at.home)
    (at.root / "AGENTS.md").unlink()
    (at.root / "AGENTS.md").symlink_to(outside)
    assert at.read() == {}
    assert "leads out of the workspace" in at.problems()[0]


def test_links_above_the_workspace_stay_inside_the_repository(at: Folders) -> None:
    at.init_git()
    outside = at.write("secret", "secret", at.home)
    (at.top / "AGENTS.md").symlink_to(outside)
    at.write("shared.md", "shared", at.top)
    (at.root.parent / "AGENTS.md").symlink_to("../shared.md")
    assert at.read() == {"../AGENTS.md": "shared"}
    assert "leads out of the repository" in at.problems()[0]


@pytest.mark.parametrize("name", ["CLAUDE.md", ".claude/CLAUDE.md", ".claude/rules/a.md", ".cursor/rules/a.mdc"])
@pytest.mark.parametrize("is_folder", [True, False])
def test_no_link_leads_out_whichever_part_of_the_path_it_is(at: Folders, name: str, is_folder: bool) -> None:
    outside = at.write("away/rules/a.md", "---\nalwaysApply: true\n---\nsecret", at.home).parent.parent
    at.write("away/rules/a.mdc", "---\nalwaysApply: true\n---\nsecret", at.home)
    at.write("away/CLAUDE.md", "secret", at.home)
    link = at.root / (name.split("/")[0] if is_folder else name)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside if is_folder and "/" in name else outside / "CLAUDE.md")
    assert at.read() == {}


@pytest.mark.parametrize("name", ["CLAUDE.md", "GEMINI.md", ".claude/rules/a.md", ".github/copilot-instructions.md"])
@pytest.mark.parametrize("is_above", [True, False])
def test_a_secret_is_read_under_no_name(at: Folders, name: str, is_above: bool) -> None:
    at.init_git()
    folder = at.top if is_above else at.root
    secret = at.write(".env", "TOKEN=hunter2", folder)
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    os.link(secret, target)
    assert at.read() == {}
    target.unlink()
    target.symlink_to(secret)
    assert at.read() == {}
    assert ".env" in at.problems()[0]


def test_a_secret_is_not_imported(at: Folders) -> None:
    at.write("config/.env", "TOKEN=hunter2")
    at.write("CLAUDE.md", "@config/.env")
    assert at.read() == {}
    assert "often holds secrets" in at.problems()[0]


def test_a_folder_that_is_a_link_out_of_the_workspace_brings_nothing(at: Folders) -> None:
    (at.mine / "AGENTS.md").write_text("mine")
    (at.root / "away").symlink_to(at.mine)
    assert "away/AGENTS.md" not in at.read("away/x")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize("name", ["AGENTS.md", "CLAUDE.md", ".claude/rules/a.md"])
def test_a_pipe_or_a_folder_in_its_place_does_not_hold_anything_up(at: Folders, name: str) -> None:
    path = at.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    (at.root / "src" / "AGENTS.md").mkdir(parents=True)
    assert at.read("src/a") == {}
    assert [problem.partition(":")[0] for problem in at.problems("src/a")] == [name, "src/AGENTS.md"]


def test_links_in_a_circle_are_a_problem_and_no_crash(at: Folders) -> None:
    (at.root / "AGENTS.md").symlink_to("AGENTS.md")
    assert at.read() == {}
    assert at.problems()


def test_a_thousand_rules_are_two_hundred_and_their_problems_a_dozen(at: Folders) -> None:
    for number in range(1_000):
        at.write(f".claude/rules/{number:04}.md", f"rule {number}" if number % 2 else b"\xff broken")
    assert 0 < len(at.read()) <= MAX_RULES
    assert len(at.last.problems) == MAX_PROBLEMS + 1
    assert any(str(MAX_RULES) in problem for problem in at.problems())


def test_a_huge_file_with_nul_bytes_is_cut_and_shown_as_text(at: Folders) -> None:
    with at.write("CLAUDE.md", "Be kind.\0").open("ab") as file:
        file.truncate(2**30)
    assert "\0" not in at.read()["CLAUDE.md"]
    assert len(at.last.files[0].text) <= MAX_BYTES


@pytest.mark.parametrize("name", ["a\nb.md", "a\x1bb.md", os.fsdecode(b"a\xff.md")])
def test_a_rule_whose_name_is_no_text_is_left_alone(at: Folders, name: str) -> None:
    at.write(f".claude/rules/{name}", "rule")
    assert at.read() == {}


@pytest.mark.parametrize("text", ["`" * 30_000, "<!--" * 8_000, "@" * 30_000, "~~~\n" * 8_000, "@a\\ " * 8_000])
def test_text_made_to_take_long_takes_no_time_to_speak_of(text: str) -> None:
    assert with_imports(text)[0] in (text, "")


@pytest.mark.parametrize("path", ["a\0b/c", "a\ud800b/c", f"{'x' * 5_000}/c"], ids=["nul", "surrogate", "long"])
def test_a_path_that_can_be_none_brings_nothing_and_is_nothing_wrong(at: Folders, path: str) -> None:
    assert at.reader.read((), [path]) == Instructions()
    at.write("CLAUDE.md", f"x @{path.replace(chr(0), '')}".encode(errors="replace"))
    assert at.problems() == []


def test_the_folders_of_a_file_are_those_around_it_outer_ones_first(at: Folders) -> None:
    at.write("src/deep/a.py", "")
    assert at.reader.folders_of(["src/deep/a.py"]) == ["src", "src/deep"]
    assert at.reader.folders_of(["src/deep", str(at.root / "src")]) == ["src", "src/deep"]
    assert at.reader.folders_of([".", "top.txt", "../other/x", "/etc/passwd"]) == []
