"""The rules file survives faults, other processes and editing by hand."""

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.approvals import LoadedRules, RulesFile
from desktop_agent.core.base.errors import StorageError, UsageError
from desktop_agent.core.protocol.model import Rule
from desktop_agent.core.settings import table_file

NOW = datetime(2026, 11, 22, 4, 0, tzinfo=UTC)
PUSH = Rule(id="r-1", effect="allow", kind="command", pattern="git push", scope="always", created_at=NOW)
EXACT = Rule(
    id="r-2", effect="forbid", kind="command", pattern="make \"x y\" 'é'\n", scope="project", created_at=NOW,
    is_exact=True, folder="/w/a", details=("Variables: A=1",), workspace="/w", expires_at=NOW + timedelta(days=1),
    is_unconfined=True, repository="/w/a", repository_mark="0f",
)  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> RulesFile:
    return RulesFile(tmp_path / "config" / "rules.toml")


def _write(file: RulesFile, text: str) -> None:
    file.path.parent.mkdir(parents=True, exist_ok=True)
    file.path.write_text(text)


def test_rules_come_back_as_they_were(file: RulesFile) -> None:
    file.add(PUSH, EXACT)
    assert file.load().rules == (PUSH, EXACT)
    assert file.load().problems == ()


def test_a_rule_with_a_known_id_replaces_it_and_a_sessions_rule_is_not_kept(file: RulesFile) -> None:
    file.add(PUSH, EXACT)
    file.add(replace(PUSH, pattern="git"), replace(PUSH, id="r-3", scope="session"))
    assert {rule.id: rule.pattern for rule in file.load().rules} == {"r-1": "git", "r-2": EXACT.pattern}


def test_a_removed_rule_is_gone_and_may_come_back_after_the_last_one(file: RulesFile) -> None:
    assert file.load() == LoadedRules()
    assert not file.remove("r-1")
    file.add(PUSH, EXACT)
    assert file.remove("r-1")
    assert not file.remove("r-1")
    assert file.load().rules == (EXACT,)
    assert file.remove("r-2")
    assert (file.load(), file.path.read_text()) == (LoadedRules(), "")
    file.add(PUSH)
    assert file.load().rules == (PUSH,)


def test_comments_and_what_the_person_wrote_are_kept(file: RulesFile) -> None:
    file.add(PUSH)
    _write(file, "# mine\n" + file.path.read_text().replace('"git push"', '"git push"  # to work'))
    file.add(EXACT)
    file.remove("r-2")
    text = file.path.read_text()
    assert text.startswith("# mine\n")
    assert "# to work" in text
    assert file.load().rules == (PUSH,)


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('effect = "allow"', 'effect = "alow"', "effect"),
        ('kind = "command"', "", "kind"),
        ('pattern = "git push"', 'pattern = ""', "pattern"),
        ('pattern = "git push"', "pattern = 3", "pattern"),
        ('scope = "always"', 'scope = "session"', "scope"),
        ('scope = "always"', 'scope = "project"', "workspace"),
        ('scope = "always"', 'scope = "always"\nexpires = 2020-01-01', "'expires' is not known"),
        ('scope = "always"', 'scope = "always"\nexpires_at = "soon"', "expires_at"),
        ('scope = "always"', 'scope = "always"\nis_exact = 1', "is_exact"),
        ('scope = "always"', 'scope = "always"\ndetails = "x"', "details"),
    ],
)
def test_a_broken_entry_is_named_and_does_not_count(file: RulesFile, old: str, new: str, word: str) -> None:
    file.add(PUSH, EXACT)
    _write(file, file.path.read_text().replace(old, new, 1))
    loaded = file.load()
    assert loaded.rules == (EXACT,)
    (problem,) = loaded.problems
    assert problem.key == "rule 1"
    assert word in str(problem)
    assert loaded.is_forbidding_broken == ("effect" in old)


@pytest.mark.parametrize(
    "text", ["[[rule]\n", "rule = 3\n", "\x00", "[rule]\nid = 1\n", "rules = []\n", "rule = [1]\n"]
)
def test_a_broken_file_allows_nothing_says_so_and_is_left_alone(file: RulesFile, text: str) -> None:
    _write(file, text)
    loaded = file.load()
    assert loaded.rules == ()
    assert loaded.problems
    assert loaded.is_forbidding_broken
    if text != "rules = []\n":
        with pytest.raises(UsageError):
            file.add(PUSH)
        assert file.path.read_text() == text


def test_writers_side_by_side_lose_nothing(file: RulesFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_file, "_LOCK_TIMEOUT_S", 60.0)  # a disk that syncs slowly makes the last one wait longer
    rules = [replace(PUSH, id=f"r-{number}") for number in range(8)]
    threads = [threading.Thread(target=RulesFile(file.path).add, args=(rule,)) for rule in rules]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {rule.id for rule in file.load().rules} == {rule.id for rule in rules}


def test_a_folder_that_cannot_be_written_is_said_and_nothing_is_lost(file: RulesFile, tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("x")
    with pytest.raises(StorageError):
        RulesFile(blocker / "rules.toml").add(PUSH)
    file.path.mkdir(parents=True)
    assert file.load().is_forbidding_broken
    with pytest.raises(StorageError):
        file.add(PUSH)
    assert not list(file.path.parent.glob("*.tmp"))


@pytest.mark.parametrize("value", ['""', "0", "{}", "false"])
def test_something_else_in_the_place_of_the_rules_is_left_as_it_is(file: RulesFile, value: str) -> None:
    file.path.parent.mkdir(parents=True, exist_ok=True)
    file.path.write_text(f"rule = {value}\n")
    with pytest.raises(UsageError, match="not written as"):
        file.add(PUSH)
    assert file.path.read_text() == f"rule = {value}\n"


def test_an_empty_list_that_an_earlier_version_left_is_no_obstacle(file: RulesFile) -> None:
    file.path.parent.mkdir(parents=True, exist_ok=True)
    file.path.write_text("rule = []\n")
    file.add(PUSH)
    assert file.load().rules == (PUSH,)
