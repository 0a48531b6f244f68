"""Which commands only read, as a table of what does and what seems to."""

from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.policy.reading import only_reads
from desktop_agent.core.policy.shell import parse

READING = [
    "ls", "ls -la src", "cat a.py b.py", "head -n 5 x", "tail -n 20 x", "wc -l *.py", "grep -rn 'a b' src",
    "rg foo src",
    "find . -name '*.py' -type f", "git status", "git log --oneline -5", "git diff HEAD~1 -- x.py", "git show HEAD",
    "git branch", "git branch -a", "git rev-parse HEAD", "git ls-files", "git blame x.py", "git describe --tags",
    "git remote -v", "git stash list", "git --no-pager diff --stat", "git config --get user.name", "git tag -l",
    "stat x", "file x", "du -sh .", "df -h", "pwd", "echo hi", "printf '%s\\n' x", "date", "date +%s", "uname -a",
    "which python", "type ls", "env", "id", "whoami", "hostname", "basename a/b", "realpath x", "sort x",
    "sort -k2 -n x",
    "uniq -c", "cut -d, -f1 x", "tr a-z A-Z", "sed -n '1,20p' x", "sed -n 5p x", "sed 's/a/b/g' x", "jq .a x.json",
    "diff a b", "cmp a b", "tree -L 2", "true", "test -f x", "[ -n \"$X\" ]", "[[ -f x ]]", "cd src && ls",
    "python --version", "node --version", "ls | head -3 | wc -l", "ls 2>/dev/null", "ls > /dev/null 2>&1", "cat < x",
    "cat $FILE", "cat $(git ls-files)", "for f in *.py; do wc -l \"$f\"; done", "ls; pwd", "FORCE_COLOR=1 ls",
    "LC_ALL=C ls",
    "time ls", "bash -c 'ls | wc -l'", "timeout 5 grep x y", "/bin/ls", "find . -name x | xargs cat", "command -v git",
    "xargs -n 1 grep -l foo", "if [ -f x ]; then cat x; fi", "n=1; echo $n", "set -e; ls",
]  # fmt: skip


def test_a_command_that_only_reads_counts() -> None:
    """Z-93: `/bin/ls`, `FOO=1 ls` and pipes of readers are recognised."""
    assert [command for command in READING if not only_reads(parse(command))] == []


NOT_READING = [
    # Z-93: writing or running something else beside, inside or behind a reading word.
    "ls ; rm -rf ~", "echo hi && curl x | sh", "cat a > b", "grep x $(rm y)", "cat a >> b", "ls &> f", "ls >| f",
    "ls | tee f", "echo $(rm x)", "cat <(rm x)", "> f", "cat a b >f",
    # Options that write, run or connect.
    "rg --pre ./x foo", "rg --pr=./x foo", "find . -delete", "find . -exec rm {} +", "find . -fprint f",
    "find . -ok rm {} ;",
    "sort -o f x", "sort --output=f x", "sort --outp f x", "sort --compress-program=./x y", "sort -uo f x", "uniq a b",
    "tree -o f", "file -C -m x", "printf -v x y", "hostname evil", "date -s 12:00", "date 01010101", "env -u A",
    "git log --output=f", "git log --outp=f", "git diff --ext-diff", "git show --textconv x",
    "git -c core.pager=./x log",
    "git --exec-path=./x log", "git --git-dir=./x log", "git -C x status", "git grep -O./x foo", "git branch new",
    "git branch -D x", "git tag v1", "git remote add x y", "git stash", "git stash drop", "git config a.b c",
    "git push",
    "git fetch", "git commit -m x", "git", "git ls-remote", "git reflog expire", "git -p log",
    "git log --show-signature",
    "sed -i s/a/b/ x", "sed -n '1w f' x", "sed 's/a/b/w f' x", "sed '1e rm x' x", "sed s/a/b/e x", "sed -f x y",
    "sed --in-place s/a/b/ x", "awk '{print}' x", "awk 'BEGIN{system(1)}'",
    # Variables and wrappers that change what runs.
    "PATH=/tmp/x ls", "LD_PRELOAD=./x.so ls", "GIT_EXTERNAL_DIFF=./x git diff", "BASH_ENV=x bash -c ls",
    "PAGER=./x git log",
    "IFS=x ls", "env LD_PRELOAD=x ls", "env -S 'ls' x", "export PATH=/x; ls", "sudo ls", "path=/x; ls",
    # What is unknown before it runs.
    "$X", "$(echo ls)", "l? x", "git log $X", "sort $X", "rg $X", "find $X", "find . -name x $Y", "ls ${x:=y}",
    "eval ls -$X",
    "./ls", "/tmp/x/ls", "x/ls", "~/bin/ls", "l{s,}", "python x.py", "python -c 1", "pytest", "make",
    "npm test", "unknown",
    "cat < /dev/tcp/h/80", "ls 'unterminated", "ls \\", "alias ls=x; ls", "f() { ls; }; f", "less x", "xargs",
    "xargs sort",
    "[ -v 'a[$(x)]' ]", "[[ $x -eq 'a[0]' ]]", "cat <<E | sh\nls\nE", "find . -exec sort {} +",
    "find . -exec grep x {} +", "/lib64/ld-linux-x86-64.so.2 --preload ./x.so /bin/ls", "ld.so /bin/ls", "torsocks ls",
    "./nice ls", "./env ls", "sub/timeout 3 ls", "./bash -c ls", "Nice ls", "SUDO ls",
    "./xargs cat", "/tmp/x/find . -name x -exec cat {} +", "", "   ", "# nothing",
]  # fmt: skip


def test_what_may_do_more_does_not_count() -> None:
    """Z-93, and everything that is not known (fail closed)."""
    assert [command for command in NOT_READING if only_reads(parse(command))] == []


WRITERS = [
    "rm x",
    "git push",
    "curl x",
    "tee f",
    "python x.py",
    "unknown",
    "ls > f",
    "sort -o f x",
    "find . -delete",
    "$X",
]


@given(
    st.lists(st.sampled_from(READING), min_size=0, max_size=3),
    st.sampled_from(WRITERS),
    st.lists(st.sampled_from(READING), min_size=0, max_size=3),
    st.sampled_from(["; ", " && ", " || ", "\n", " & "]),
)
def test_one_writing_command_among_readers_is_enough(
    before: list[str], writer: str, after: list[str], joint: str
) -> None:
    assert not only_reads(parse(joint.join([*before, writer, *after])))


@given(
    st.sampled_from(READING),
    st.sampled_from(WRITERS),
    st.sampled_from(["{} $({})", "{} <({})", '{} "$({})"', "{} `{}`"]),
)
def test_a_writer_inside_a_reader_is_seen(reader: str, writer: str, form: str) -> None:
    assert not only_reads(parse(form.format(reader, writer)))
