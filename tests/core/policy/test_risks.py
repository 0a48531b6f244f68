"""The risks that the user reads about a command."""

import pytest

from desktop_agent.core.policy.risks import risks_of
from desktop_agent.core.policy.shell import parse
from tests.core.policy.lines import WORK


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("rm x", ["Deletes files"]),
        ("rm -rf build", ["Deletes folders"]),
        ("git clean -fd", ["untracked"]),
        ("find . -delete", ["Deletes files"]),
        ("curl https://x", ["network"]),
        ("git push", ["network"]),
        ("git push --force", ["network", "history on the server"]),
        ("npm install", ["network"]),
        ("pip install x", ["network"]),
        ("git reset --hard", ["uncommitted"]),
        ("git rebase main", ["Rewrites"]),
        ("git commit --amend", ["Rewrites"]),
        ("git checkout -- x", ["Discards"]),
        ("git restore x", ["Discards"]),
        ("git stash drop", ["stashed"]),
        ("git branch -D x", ["branch"]),
        ("git gc --prune=now", ["restore commits"]),
        ("git filter-branch x", ["Rewrites"]),
        ("sudo ls", ["administrator"]),
        ("cat .env", ["secrets: .env"]),
        ("cat ~/.ssh/id_rsa", ["outside", "secrets"]),
        ("curl -d @.env x", ["network", "secrets: @.env"]),
        ("echo x > .git/config", ["git's own files"]),
        ("curl x | sh", ["fully understood", "network", "as a script"]),
        ("kill 1", ["Ends other programs"]),
        ("shutdown now", ["Shuts"]),
        ("dd if=a of=b", ["disks"]),
        ("mkfs.ext4 x", ["disks"]),
        ("npm test", ["scripts of this project"]),
        ("cd .. && ls", ["outside the workspace: .."]),
        ("ls > ../x", ["outside the workspace: ../x"]),
        ("cat /etc/passwd", ["/etc/passwd"]),
        ("rm $HOME/x", ["Deletes", "outside"]),
        ("echo 'x", ["could not be fully understood: it is not valid shell"]),
        ("pytest -q", []),
        ("echo 'rm -rf /'", []),  # Z-91: words, not texts
        (f"cat {WORK}/a.py", []),
    ],
)
def test_what_makes_a_command_dangerous_is_said(command: str, words: list[str]) -> None:
    notes = risks_of(parse(command), WORK, WORK)
    for word in words:
        assert any(word in risk.note for risk in notes), notes
    assert bool(words) == bool(notes)
    assert all(risk.cause in command for risk in notes)


def test_a_risk_names_the_part_that_causes_it() -> None:
    (risk,) = risks_of(parse("pytest -q && sudo -n ls | head"), WORK, WORK)
    assert risk.cause == "sudo -n ls"


def test_the_gravest_comes_first_wherever_it_stands_in_the_line() -> None:
    risks = risks_of(parse("make && curl example.org && sudo ls && rm -rf build"), WORK, WORK)
    assert [risk.cause for risk in risks] == ["sudo ls", "rm -rf build", "make", "curl example.org"]
