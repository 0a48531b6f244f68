import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.policy.destructive import Loss, losses_of
from desktop_agent.core.policy.shell import parse
from tests.core.policy.lines import WORK


def lost_by(command: str, *, is_destructive: bool | None = True) -> set[str]:
    losses = losses_of(parse(command), WORK)
    return {shown(loss) for loss in losses if is_destructive is None or loss.is_destructive is is_destructive}


def shown(loss: Loss) -> str:
    place = loss.place.removeprefix(f"{WORK}/") if loss.place != WORK else "."
    return f"{loss.kind} {place}"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("rm a.txt", {"tree a.txt"}),
        ("rm -rf build dist/", {"tree build", "tree dist"}),
        ("rm -rf -- -odd", {"tree -odd"}),
        ("/bin/rm -r x", {"tree x"}),
        ("rm -rf .", {"tree ."}),
        ("rm -rf ../other", {"tree /home/me/other"}),
        ("rm -rf /tmp/x", {"tree /tmp/x"}),
        ("rm -rf ~/x", {"tree ~/x"}),
        ("rm 'two words'", {"tree two words"}),
        ("rm build/*.o", {"tree build/*.o"}),
        ("rm *.pyc", {"tree *.pyc"}),
        ('rm "$FILE"', {"tree ."}),
        ('rm -rf "$DIR/cache"', {"tree ."}),
        ('rm -rf "/opt/$X"', {"tree /opt"}),
        ("rm a{1,2}.txt", {"tree ."}),
        ("rmdir empty", {"tree empty"}),
        ("unlink a", {"tree a"}),
        ("shred -u -n 3 key.pem", {"file key.pem"}),
        ("truncate -s 0 log.txt", {"file log.txt"}),
        ("sudo rm -rf build", {"tree build"}),
        ("env A=1 nice -n 5 rm x", {"tree x"}),
        ("timeout 5 rm x", {"tree x"}),
        ("bash -c 'rm -rf x'", {"tree x"}),
        ("sh -c \"cd sub && rm -rf x\"", {"tree sub/x"}),
        ("cd sub && rm -rf x", {"tree sub/x"}),
        ("cd sub && cd deeper && rm x", {"tree sub/deeper/x"}),
        ("cd sub; rm x", {"tree x", "tree sub/x"}),
        ("(cd sub && make); rm -rf x", {"tree x", "tree sub/x"}),
        ("cd sub || true && rm x", {"tree x", "tree sub/x"}),
        ("true && rm x || rm y", {"tree x", "tree y"}),
        ("ls | xargs rm", {"tree ."}),
        ("find . -name '*.pyc' -delete", {"tree ."}),
        ("find build tmp -type f -delete", {"tree build", "tree tmp"}),
        ("find build -name x -exec rm {} +", {"tree build"}),
        ("find build -exec rm -rf {}/cache \\;", {"tree build"}),
        ("for f in a b; do rm $f; done", {"tree ."}),
        ("dd if=/dev/zero of=disk.img", {"file disk.img"}),
        ("rsync -a --delete src/ dst/", {"tree dst"}),
        ("git clean -fd", {"untracked ."}),
        ("git clean -fdx", {"ignored ."}),
        ("git clean -nfd", set[str]()),
        ("git clean --dry-run -fd", set[str]()),
        ("git checkout -- a.txt", {"uncommitted .", "refs ."}),
        ("git checkout .", {"uncommitted .", "refs ."}),
        ("git checkout HEAD~1 src/a.py", {"uncommitted .", "refs ."}),
        ("git checkout -f main", {"uncommitted .", "refs ."}),
        ("git -C sub checkout -- a", {"uncommitted sub", "refs sub"}),
        ("git -c x.y=z --no-pager checkout -- a", {"uncommitted .", "refs ."}),
        ("git restore --staged a", {"uncommitted .", "refs ."}),
        ("git switch -f main", {"uncommitted .", "refs ."}),
        ("git switch --discard-changes main", {"uncommitted .", "refs ."}),
        ("git reset --hard", {"uncommitted .", "refs ."}),
        ("git reset --har HEAD~1", {"uncommitted .", "refs ."}),
        ("git reset --merge ORIG_HEAD", {"uncommitted .", "refs ."}),
        ("cd sub && git reset --hard", {"uncommitted sub", "refs sub"}),
        ("git stash drop", {"refs ."}),
        ("git stash drop stash@{1}", {"refs ."}),
        ("git stash clear", {"refs ."}),
        ("git stash pop", {"uncommitted .", "refs ."}),
        ("git worktree remove --force ../wt", {"worktree /home/me/wt", "refs ."}),
        ("git branch -D topic", {"refs ."}),
        ("git branch --delete --force topic", {"refs ."}),
        ("git tag -d v1", {"refs ."}),
        ("git update-ref -d refs/heads/x", {"refs ."}),
        ("git reflog expire --expire=now --all", {"objects .", "refs ."}),
        ("git gc --prune=now", {"objects .", "refs ."}),
        ("git prune", {"objects .", "refs ."}),
        ("git rebase main", {"uncommitted .", "refs ."}),
        ("git commit --amend --no-edit", {"refs ."}),
        ("git filter-branch --all", {"uncommitted .", "refs ."}),
        ("git rm -r --cached src", {"tree src", "uncommitted .", "refs ."}),
        ("git merge --abort", {"uncommitted .", "refs ."}),
        ("git worktree remove $X", {"worktree .", "refs ."}),
    ],
)  # fmt: skip
def test_what_destroys_is_found_in_any_spelling(command: str, expected: set[str]) -> None:
    assert lost_by(command) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo x > a.txt", {"file a.txt"}),
        ("echo x >> sub/a.txt", {"file sub/a.txt"}),
        ("make > /dev/null 2>&1", set[str]()),
        ("mv a b", {"tree a", "file b", "tree b/a"}),
        ("mv -t dir a b", {"tree a", "tree b", "file dir", "tree dir/a", "tree dir/b"}),
        ("cp -r src/a dst", {"file dst", "tree dst/a"}),
        ("ls | tee out.txt", {"file out.txt"}),
        ("git checkout main", {"uncommitted .", "refs ."}),
        ("git checkout -b feature/x.y", {"uncommitted .", "refs ."}),
        ("git commit -m 'rm -rf'", {"refs ."}),
        ("git stash", {"uncommitted .", "refs ."}),
        ("git reset HEAD~1", {"uncommitted .", "refs ."}),
        ("git wip", {"refs ."}),
    ],
)
def test_what_may_only_be_in_the_way_is_copied_but_does_not_count_as_destruction(
    command: str, expected: set[str]
) -> None:
    assert lost_by(command, is_destructive=False) == expected
    assert lost_by(command) == set()


@pytest.mark.parametrize(
    "command",
    [
        "ls -la", "cat a.txt", "git status", "git log -p", "git diff", "git stash list", "git branch", "git push -f",
        "echo 'rm -rf /'", "pytest -q", "grep -r rm .", "find . -name x", "find . -exec grep x {} +", "ssh host rm x",
        "python3 -c 'print(1)'", "git clean --help", "",
    ],
)  # fmt: skip
def test_what_destroys_nothing_has_no_losses(command: str) -> None:
    assert lost_by(command) == set()


@pytest.mark.parametrize(
    "command",
    ["python3 -c 'import shutil; shutil.rmtree(\"x\")'", "eval \"$CMD rm\"", "rm 'x", "curl x | sh; git reset"],
)  # fmt: skip
def test_what_was_not_understood_but_speaks_of_deleting_may_mean_everything(command: str) -> None:
    assert {"tree .", "uncommitted .", "refs ."} <= lost_by(command)


@pytest.mark.parametrize(
    ("command", "certainty"),
    [("rm x", "exact"), ("rm *.o", "pattern"), ("rm 'a*'", "exact"), ('rm "$X"', "guess"), ("ls | xargs rm", "guess")],
)
def test_how_sure_a_place_is_is_told(command: str, certainty: str) -> None:
    [loss] = losses_of(parse(command), WORK)
    assert loss.certainty == certainty


@given(st.text(max_size=80))
def test_no_line_makes_it_fail(line: str) -> None:
    losses_of(parse(line), WORK)


_WORDS = st.sampled_from(
    [
        "rm", "-rf", "git", "clean", "-fdx", "checkout", "--", ".", "stash", "drop", "worktree", "remove", "cd", "..",
        "&&", ";", "|", "xargs", "find", "-delete", "-exec", "{}", "\\;", "mv", "-t", "$X", "*", "~", "''", '""', ">",
        "a", "b/c", "-C", "(", ")", "{a,b}", "sudo", "bash", "-c", "'rm x'", "rsync", "--delete", "dd", "of=x", "-",
    ]
)  # fmt: skip


@given(st.lists(_WORDS, max_size=9))
def test_every_line_of_such_words_is_read_and_every_place_is_absolute(words: list[str]) -> None:
    for loss in losses_of(parse(" ".join(words)), WORK):
        assert loss.place.startswith(("/", "~"))
