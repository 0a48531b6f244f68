"""Prompts of real server processes as commands: found, filled in, sent."""

import os
import sys
from pathlib import Path

import pytest

from desktop_agent.core.extensions.skills import MAX_FILE_BYTES, MAX_FILES, SkillFolders
from desktop_agent.core.extensions.skills_in_force import listed
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.providers.scripted import Say
from desktop_agent.core.slash.commands import OwnCommand, own_commands
from desktop_agent.core.slash.declarations import parse
from desktop_agent.core.tools.secret_files import SecretNames
from tests.core.extensions.homes import homes_in
from tests.core.tools.servers.conftest import PatientClock, program, with_servers
from tests.harness import Ground

needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")


class Folders:
    def __init__(self, root: Path) -> None:
        self.config = root / "config"
        self.workspace = root / "project"
        self.mine = self.config / "commands"
        self.theirs = self.workspace / ".desktop-agent" / "commands"
        self.mine.mkdir(parents=True)
        self.theirs.mkdir(parents=True)

    def read(self) -> dict[str, OwnCommand]:
        return {c.declaration.name: c for c in self.all()}

    def all(self) -> tuple[OwnCommand, ...]:
        secrets = SecretNames(self.workspace)
        found = SkillFolders(
            self.workspace, homes_in(self.workspace / "no home", self.config), lambda: secrets.secret_at
        )
        return own_commands(listed(found.read(), is_trusted=False, off=()))


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


def test_a_file_is_a_command_named_after_it(folders: Folders) -> None:
    text = "---\ndescription: Look it over\nargument-hint: [FILE]\n---\nReview it.\n"
    (folders.mine / "review.md").write_text(text)
    command = folders.read()["review"]
    assert command.declaration.summary == "Look it over"
    assert command.declaration.arguments == "[FILE]"
    assert command.declaration.origin == "person"
    assert command.prompt(parse("/review src/a.py")) == "Review it.\n\nsrc/a.py"
    assert command.prompt(parse("/review")) == "Review it."


def test_a_folder_is_a_prefix(folders: Folders) -> None:
    (folders.theirs / "git").mkdir()
    (folders.theirs / "git" / "message.md").write_text("# Write a message\nfor what is staged")
    command = folders.read()["git:message"]
    assert command.declaration.origin == "project"
    assert command.declaration.summary == "Write a message"


def test_places_are_filled_with_the_words_of_the_call(folders: Folders) -> None:
    (folders.mine / "move.md").write_text("From $1 to $2, not $3. All: $ARGUMENTS. $10 stays, $ARGUMENTSX too.")
    command = folders.read()["move"]
    assert command.prompt(parse('/move "a b" c')) == 'From a b to c, not . All: "a b" c. $10 stays, $ARGUMENTSX too.'


def test_what_is_filled_in_is_not_filled_in_again(folders: Folders) -> None:
    (folders.mine / "echo.md").write_text("$1 and $2")
    assert folders.read()["echo"].prompt(parse("/echo $2 x")) == "$2 and x"


def test_a_name_of_a_built_in_command_is_listed_and_not_usable(folders: Folders) -> None:
    (folders.mine / "undo.md").write_text("Undo everything.")
    assert "built-in" in folders.read()["undo"].declaration.problem


def test_a_project_never_replaces_a_command_of_the_person(folders: Folders) -> None:
    (folders.mine / "deploy.md").write_text("Mine.")
    (folders.theirs / "deploy.md").write_text("Theirs.")
    both = [c for c in folders.all() if c.declaration.name == "deploy"]
    usable = [command for command in both if not command.declaration.problem]
    assert [command.skill.body for command in usable] == ["Mine."]
    assert len(both) == 2


@needs_links
def test_a_link_out_of_the_folder_is_refused(folders: Folders, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("the key is 123")
    (folders.theirs / "look.md").symlink_to(secret)
    command = folders.read()["look"]
    assert "leads out" in command.declaration.problem
    assert command.skill.body == ""
    assert "123" not in command.declaration.summary


@needs_links
def test_a_folder_that_is_a_link_out_of_the_project_is_not_read(folders: Folders, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.md").write_text("from elsewhere")
    folders.theirs.rmdir()
    folders.theirs.symlink_to(elsewhere, target_is_directory=True)
    (folders.mine / "sub").symlink_to(elsewhere, target_is_directory=True)
    assert folders.read() == {}


@needs_links
def test_a_link_in_a_circle_and_a_pipe_do_not_stop_the_others(folders: Folders) -> None:
    (folders.mine / "a.md").symlink_to(folders.mine / "a.md")
    os.mkfifo(folders.mine / "b.md")
    (folders.mine / "c.md").write_text("fine")
    read = folders.read()
    assert read["a"].declaration.problem
    assert read["b"].declaration.problem
    assert read["c"].declaration.problem == ""


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"", "empty"), (b"x" * (MAX_FILE_BYTES + 1), "KiB"), (b"\xff\xfe\x00", "UTF-8"), (b"---\na: b\n---\n", "empty")],
)
def test_a_file_that_cannot_be_used_says_why(folders: Folders, content: bytes, problem: str) -> None:
    (folders.mine / "x.md").write_bytes(content)
    assert problem in folders.read()["x"].declaration.problem


def test_a_name_that_cannot_be_typed_is_not_usable(folders: Folders) -> None:
    (folders.mine / "two words.md").write_text("x")
    assert folders.read()["two words"].declaration.problem


def test_only_so_many_files_are_read(folders: Folders) -> None:
    for number in range(MAX_FILES + 5):
        (folders.mine / f"c{number}.md").write_text("x")
    assert len(folders.read()) == MAX_FILES


def test_front_matter_that_does_not_end_is_text(folders: Folders) -> None:
    (folders.mine / "x.md").write_text("---\ndescription: never ends\n")
    assert folders.read()["x"].skill.body == "---\ndescription: never ends"


def test_no_folders_are_no_commands(tmp_path: Path) -> None:
    secret_at = SecretNames(tmp_path).secret_at
    found = SkillFolders(tmp_path / "no project", homes_in(tmp_path / "no home", tmp_path / "none"), lambda: secret_at)
    assert found.read() == ()


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    ground = Ground(tmp_path)
    ground.clock = PatientClock()
    with_servers(ground, program("prompts"))
    return ground


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("/program:review-code src/app.py", "Review {'path': 'src/app.py'}"),
        ("/PROGRAM:Review-Code a.py names and types", "Review {'path': 'a.py', 'focus': 'names and types'}"),
        ("/program:review-code focus=tests 'b c.py'", "Review {'focus': 'tests', 'path': 'b c.py'}"),
    ],
)
async def test_a_prompt_of_a_server_that_does_not_run_yet_is_sent_as_the_users(
    ground: Ground, written: str, sent: str
) -> None:
    async with ground.session([[Say("ok")]]) as s:
        submitted = await s.carry_out(ops.RunCommand(text=written), ev.PromptSubmitted)
        await s.rx.expect(ev.TurnEnded)

    assert submitted.text == sent


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("/program:review-code", "path is missing. Write it as `/program:review-code PATH [FOCUS]`."),
        ("/program:review-cod x", "There is no command `/program:review-cod`. Did you mean `/program:review-code`?"),
        ("/other:review-code x", "There is no command `/other:review-code`."),
    ],
)
async def test_what_cannot_be_sent_says_why_and_starts_no_turn(ground: Ground, written: str, said: str) -> None:
    async with ground.session([[Say("ok")]]) as s:
        ran = await s.carry_out(ops.RunCommand(text=written), ev.CommandRun)

    assert ran.is_error
    assert ran.output.startswith(said)
    assert not s.rx.all(ev.TurnStarted)


async def test_a_server_that_cannot_start_says_why_instead_of_its_prompt(ground: Ground) -> None:
    with_servers(ground, 'name = "gone"\ncommand = "no-such-program"')

    async with ground.session([[Say("ok")]]) as s:
        ran = await s.carry_out(ops.RunCommand(text="/gone:anything"), ev.CommandRun)

    assert ran.is_error
    assert "There is no program 'no-such-program'" in ran.output


async def test_they_are_listed_once_the_server_is_known(ground: Ground) -> None:
    async with ground.session([[Say("ok")]]) as s:
        await s.prompt()
        listed = (await s.carry_out(ops.RunCommand(text="/help"), ev.CommandRun)).output

    assert "`/program:review-code PATH [FOCUS]` (of a server): `Look it over⟨U+202E⟩`" in listed
