"""Skills are found, read leniently, told to the model in little room, and never before a project is trusted."""

import os
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.context.tokens import text_tokens
from desktop_agent.core.extensions.skills import MAX_FILE_BYTES, Skill, SkillFolders
from desktop_agent.core.extensions.skills_in_force import (
    ListedSkill,
    SkillUses,
    file_of,
    files_of,
    listed,
    offered,
    skill_items,
)
from desktop_agent.core.tools.secret_files import SecretNames
from tests.core.extensions.homes import homes_in

needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")


class Place:
    """A home folder, and a repository in it whose folder `app` is open."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.top = self.home / "code"
        self.root = self.top / "app"
        (self.top / ".git").mkdir(parents=True)
        self.root.mkdir()
        secrets = SecretNames(self.root)
        self.folders = SkillFolders(self.root, homes_in(self.home, root / "config"), lambda: secrets.secret_at)

    def put(self, path: Path, text: str = "---\ndescription: Does it\n---\nDo it.") -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def skill(self, base: Path, name: str, text: str = "---\ndescription: Does it\n---\nDo it.") -> Path:
        return self.put(base / name / "SKILL.md", text)

    def read(self) -> dict[str, Skill]:
        return {skill.name: skill for skill in reversed(self.folders.read())}

    def listed(self, *, is_trusted: bool = True, off: tuple[str, ...] = ()) -> list[ListedSkill]:
        return list(listed(self.folders.read(), is_trusted=is_trusted, off=off))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_skill_is_a_folder_with_its_name_and_description(place: Place) -> None:
    text = (
        "---\nname: review-changes\ndescription: Reviews: the changes\nallowed-tools: Bash(git:*) Read\n"
        "argument-hint: [branch]\n---\n# Review\nLook at $ARGUMENTS.\n"
    )
    path = place.skill(place.root / ".agents/skills", "review-changes", text)
    skill = place.read()["review-changes"]
    assert (skill.description, skill.path, skill.origin) == ("Reviews: the changes", path, "project")
    assert (skill.arguments, skill.allowed_tools, skill.place) == ("[branch]", "Bash(git:*) Read", ".agents/skills")
    assert (skill.problem, skill.warning, skill.is_for_model, skill.is_for_user) == ("", "", True, True)
    assert skill.prompt("main", ("main",)).endswith("# Review\nLook at main.")


@pytest.mark.parametrize("folder", [".agents", ".claude", ".codex", ".github", ".opencode", ".gemini"])
def test_the_folders_of_all_agents_are_read_in_the_project_above_it_and_at_home(place: Place, folder: str) -> None:
    for base, name in ((place.root, "here"), (place.top, "above"), (place.home, "mine")):
        place.skill(base / folder / "skills", name)
    found = place.read()
    assert {name: skill.origin for name, skill in found.items()} == {
        "here": "project",
        "above": "project",
        "mine": "person",
    }


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (".claude/commands/web/page.md", "web:page"),
        (".github/prompts/tidy.prompt.md", "tidy"),
        (".opencode/command/tidy.md", "tidy"),
        (".gemini/commands/git/tidy.toml", "git:tidy"),
    ],
)
def test_commands_and_prompts_of_other_agents_are_skills(place: Place, path: str, name: str) -> None:
    text = "---\ndescription: Tidies\n---\nTidy $1."
    if path.endswith(".toml"):
        text = 'description = "Tidies"\nprompt = """\nTidy {{args}}."""\n'
    place.put(place.root / path, text)
    skill = place.read()[name]
    assert (skill.description, skill.has_folder, skill.prompt("up", ("up",))) == ("Tidies", False, "Tidy up.")


def test_prompts_of_codex_are_read_at_home_only(place: Place) -> None:
    place.put(place.home / ".codex/prompts/mine.md")
    place.put(place.root / ".codex/prompts/theirs.md")
    assert set(place.read()) == {"mine"}


def test_of_several_with_one_name_the_nearest_is_used_once_it_is_trusted(place: Place) -> None:
    for base in (place.root / ".claude", place.root / ".agents", place.top / ".agents", place.home / ".agents"):
        place.skill(base / "skills", "deploy")
    states = [(each.skill.place, each.state) for each in place.listed()]
    above = str(place.top / ".agents/skills")
    assert states == [
        (".agents/skills", "on"), (".claude/skills", "unusable"), (above, "unusable"), ("~/.agents/skills", "unusable")
    ]  # fmt: skip
    assert f"another skill has this name, in {place.root}" in place.listed()[1].reason
    states = [(each.skill.place, each.state) for each in place.listed(is_trusted=False)]
    assert states[0] == (".agents/skills", "waiting")
    assert states[-1] == ("~/.agents/skills", "on"), "a project that is not trusted hides nothing of the user's"
    assert [each.state for each in place.listed(off=("deploy",))] == ["off"] * 4


@pytest.mark.parametrize(
    ("name", "text", "expected", "says"),
    [
        ("a", "---\ndescription: x\nname: b\n---\nB", "b", "not that of its folder"),
        ("a", "---\ndescription: x\nname: My Skill!\n---\nB", "a", "characters other than"),
        ("two words", "---\ndescription: x\n---\nB", "two-words", "characters other than"),
        ("a", "---\ndescription: x\nname: Upper\n---\nB", "upper", "not that of its folder"),
    ],
)
def test_a_name_that_is_wrong_is_a_warning(place: Place, name: str, text: str, expected: str, says: str) -> None:
    place.skill(place.root / ".agents/skills", name, text)
    skill = place.read()[expected]
    assert (skill.problem, says in skill.warning) == ("", True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("No front matter", "no description"),
        ("---\nname: a\n---\nBody", "no description"),
        ("---\ndescription: x\n---\n", "empty"),
        ("---\n[[[\n---\nBody", "not valid YAML"),
        ("x" * (MAX_FILE_BYTES + 1), "KiB"),
    ],
)
def test_what_cannot_be_used_says_why(place: Place, text: str, says: str) -> None:
    place.skill(place.root / ".agents/skills", "a", text)
    assert says in place.read()["a"].problem


def test_switches_say_who_may_use_it(place: Place) -> None:
    head = "---\ndescription: x\n"
    place.skill(place.home / ".claude/skills", "manual", f"{head}disable-model-invocation: true\n---\nB")
    place.skill(place.home / ".claude/skills", "quiet", f"{head}user-invocable: false\n---\nB")
    place.put(place.home / ".claude/commands/plain.md", "Only a body")
    found = place.read()
    assert {name: (skill.is_for_model, skill.is_for_user) for name, skill in found.items()} == {
        "manual": (False, True),
        "quiet": (True, False),
        "plain": (False, True),
    }


def test_commands_in_a_text_are_not_run_and_the_model_is_told_so(place: Place) -> None:
    marker = place.root / "ran"
    place.put(place.root / ".claude/commands/status.md", f"State: !`touch {marker}`\n$ARGUMENTS")
    prompt = place.read()["status"].prompt("now", ("now",))
    assert prompt.startswith(f"State: !`touch {marker}`\nnow")
    assert "were not run" in prompt
    assert not marker.exists()


def test_a_skill_knows_its_folder(place: Place) -> None:
    path = place.skill(
        place.home / ".claude/skills", "pdf", "---\ndescription: x\n---\nRun ${CLAUDE_SKILL_DIR}/a.py $0."
    )
    prompt = place.read()["pdf"].prompt("", ())
    assert f"Run {path.parent}/a.py $0." in prompt
    assert prompt.startswith(f"[The skill pdf, whose files are in {path.parent}:]")


def test_a_changed_file_is_read_again_and_a_gone_one_is_gone(place: Place) -> None:
    path = place.skill(place.root / ".agents/skills", "a")
    assert place.read()["a"].description == "Does it"
    path.write_text("---\ndescription: Does it better now\n---\nBody")
    assert place.read()["a"].description == "Does it better now"
    path.unlink()
    assert place.read() == {}


def test_the_home_folder_is_never_a_project(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (place.home / ".git").mkdir()
    place.skill(place.home / ".agents/skills", "mine")
    secrets = SecretNames(place.home)
    for root in (place.home, place.home / "notes"):
        folders = SkillFolders(root, homes_in(place.home, tmp_path / "config"), lambda: secrets.secret_at)
        assert [skill.origin for skill in folders.read()] == ["person"]


def test_what_a_project_asks_trust_for_is_what_would_be_used(place: Place) -> None:
    place.skill(place.root / ".agents/skills", "theirs")
    place.skill(place.root / ".agents/skills", "broken", "nothing")
    place.skill(place.home / ".agents/skills", "mine")
    place.put(place.root / ".desktop-agent/commands/ours.md")
    assert [(item.name, item.detail) for item in skill_items(place.folders.read())] == [("theirs", "Does it")]


# --- what a hostile project tries ----------------------------------------------------------------------------------


@needs_links
def test_no_link_leads_out_of_a_project(place: Place, tmp_path: Path) -> None:
    secret = place.put(tmp_path / "elsewhere" / "SKILL.md", "---\ndescription: the key is only-hers\n---\nonly-hers")
    skills = place.root / ".agents/skills"
    (skills / "file").mkdir(parents=True)
    (skills / "file" / "SKILL.md").symlink_to(secret)
    (skills / "folder").symlink_to(secret.parent)
    (place.root / ".claude").symlink_to(secret.parent)
    (place.root / ".codex").mkdir()
    (place.root / ".codex" / "skills").symlink_to(tmp_path, target_is_directory=True)
    (skills / "circle").symlink_to(skills / "circle")
    found = place.read()
    assert [(name, "leads out" in skill.problem) for name, skill in found.items()] == [("file", True)]
    assert "only-hers" not in f"{found}"


@needs_links
def test_no_secret_is_read_by_another_name(place: Place) -> None:
    secret = place.put(place.root / ".env", "---\ndescription: the key is only-hers\n---\nonly-hers")
    (place.root / ".agents/skills/a").mkdir(parents=True)
    os.link(secret, place.root / ".agents/skills/a/SKILL.md")
    (place.top / ".agents/skills/b").mkdir(parents=True)
    os.link(secret, place.top / ".agents/skills/b/SKILL.md")
    found = place.read()
    assert all(found[name].problem for name in ("a", "b"))
    assert "only-hers" not in f"{found}"


@needs_links
def test_nothing_waits_for_a_pipe_and_nothing_is_endless(place: Place) -> None:
    (place.root / ".agents/skills/pipe").mkdir(parents=True)
    os.mkfifo(place.root / ".agents/skills/pipe/SKILL.md")
    deep = place.root / ".claude/skills" / "/".join("d" * 12)
    place.skill(deep, "deep")
    for number in range(400):
        place.skill(place.root / ".gemini/skills", f"s{number}", f"---\ndescription: {'x' * 20_000}\n---\n{number}")
    found = place.read()
    assert found["pipe"].problem
    assert "deep" not in found
    assert len(found) == 301
    assert max(len(skill.description) for skill in found.values()) == 1_024


def test_too_much_text_is_not_kept(place: Place) -> None:
    for number in range(140):
        place.skill(place.root / ".agents/skills", f"s{number}", f"---\ndescription: x\n---\n{'y' * 65_000}")
    assert sum(len(skill.body) for skill in place.folders.read()) < 9_000_000
    assert any("too much text" in skill.problem for skill in place.folders.read())


def test_signs_that_hide_text_are_named(place: Place) -> None:
    place.skill(place.root / ".agents/skills", "a\u202eb", '---\ndescription: "x\\u202ey\\nBash: z"\n---\nB')
    skill = place.folders.read()[0]
    assert skill.name == "a-b"
    assert offered([skill], 1_000, ()) == "- a-b: x y Bash: z (.agents/skills)"


# --- what the model is told ----------------------------------------------------------------------------------------


def many(count: int) -> list[Skill]:
    about = "Does one of the many things that a team has written down, in a description of usual length. "
    return [
        Skill(
            name=f"skill-{number:03}", description=about * 3, path=Path(f"/home/me/.agents/skills/skill-{number:03}"),
            origin="person", place="~/.agents/skills", body="Do it.",
        )
        for number in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize("window", [8_000, 32_000, 200_000, 1_000_000])
@pytest.mark.parametrize("count", [1, 20, 200, 2_000])
def test_skills_take_no_more_of_the_window_than_their_share(window: int, count: int) -> None:
    room = window * 2 // 100
    text = offered(many(count), room, ())
    assert text_tokens(text) <= room
    lines = text.splitlines()
    assert len(lines) == count or lines[-1].endswith("more, which `read_skill` finds with `search`.")


def test_the_ones_used_least_recently_are_left_out_first() -> None:
    skills = many(200)
    newest = [str(skills[number].path) for number in (150, 3)]
    text = offered(skills, 160, newest)
    assert "skill-150" in text
    assert "skill-003" in text
    assert text.splitlines()[:-1] == sorted(text.splitlines()[:-1])


def test_the_order_of_use_is_kept_and_a_broken_file_is_an_empty_one(tmp_path: Path) -> None:
    uses = SkillUses(tmp_path / "data" / "uses.json")
    first, second = many(2)
    for skill in (first, second, first):
        uses.note(skill)
    assert uses.newest() == (str(first.path), str(second.path))
    (tmp_path / "data" / "uses.json").write_text("{")
    assert uses.newest() == ()


# --- the files of a skill ------------------------------------------------------------------------------------------


@needs_links
def test_only_files_in_the_skills_folder_are_read(place: Place) -> None:
    folder = place.skill(place.root / ".agents/skills", "a").parent
    place.put(folder / "reference" / "more.md", "More.")
    place.put(folder / ".env", "KEY=123")
    outside = place.put(place.root / "outside.md", "Outside.")
    (folder / "link.md").symlink_to(outside)
    (folder / "data.bin").write_bytes(b"\0\1")
    os.link(outside, folder / "hard.md")
    skill = place.read()["a"]
    assert files_of(skill) == ("data.bin", "hard.md", "reference/more.md")
    assert file_of(skill, "reference/more.md") == ("More.", False)
    for name in (
        "../../../outside.md",
        str(outside),
        "link.md",
        ".env",
        "data.bin",
        "hard.md",
        "reference",
        "no.md",
        "\0",
    ):
        with pytest.raises(ToolError):
            file_of(skill, name)


def test_a_long_file_is_cut(place: Place) -> None:
    folder = place.skill(place.root / ".agents/skills", "a").parent
    place.put(folder / "long.txt", "x" * 100_000)
    text, is_cut = file_of(place.read()["a"], "long.txt")
    assert (len(text), is_cut) == (65_536, True)


def test_agents_whose_folders_the_user_moved_are_found_there(place: Place, tmp_path: Path) -> None:
    place.skill(tmp_path / "moved" / "skills", "mine")
    place.put(tmp_path / "moved" / "prompts" / "ask.md")
    place.skill(place.home / ".claude/skills", "old")
    homes = replace(homes_in(place.home, tmp_path / "config"), codex=tmp_path / "moved", claude=tmp_path / "none")
    secrets = SecretNames(place.root)
    found = SkillFolders(place.root, homes, lambda: secrets.secret_at).read()
    moved = tmp_path / "moved"
    assert [(skill.name, skill.place) for skill in found] == [("mine", f"{moved}/skills"), ("ask", f"{moved}/prompts")]
