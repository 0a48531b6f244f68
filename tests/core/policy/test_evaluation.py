"""Bash's arithmetic evaluation is not reading: a name's value may run any program."""

import pytest

from desktop_agent.core.policy.engine import Allow, Ask
from desktop_agent.core.policy.read_only_commands import only_reads
from desktop_agent.core.policy.shell import parse
from tests.core.policy.lines import rule, sandboxed, verdict

_GIVEN = [
    "n=$(printf 'a[\\44(CMD)]')", "n=$x", "n=a", "n=1; n=$(cat f)", "for n in $(cat f); do :; done",
    "for n in 1 x; do :; done", "n=1; read n", "n=1; printf -v n %s x", "n=1; ((m=1)); n=$m", "n+=x", "n='a[0]'",
    "m=1", "n=1; declare n=x", "n=1; mapfile n", "n=1; eval n=x", "n=(1)", "for n; do :; done",
]  # fmt: skip


@pytest.mark.parametrize("given", _GIVEN)
@pytest.mark.parametrize(
    "context", ["((n))", "[[ n -eq 0 ]]", "for((;n;)); do :; done", "a[n]=1", "x=${x:n}", "[[ $n -gt 0 ]]"]
)
def test_no_rule_lets_a_line_run_that_evaluates_what_is_no_literal_number(given: str, context: str) -> None:
    """The rules name all commands of the line, but not the command that the name's value would run."""
    rules = tuple(
        rule(name, is_unconfined=is_open)
        for name in ("make", "cat", "read", "printf", "declare", "mapfile", "eval")
        for is_open in (False, True)
    )
    for line in (f"{given}; {context}; make", f"{given}\n{context} && make", f"make; ({given}; {context})"):
        assert isinstance(verdict(line, sandboxed("on_write", *rules)), Ask), line


@pytest.mark.parametrize(
    "line",
    [
        # Bash's own variables are evaluated, or choose what it runs.
        "RANDOM=$n", "RANDOM+=$n", "export RANDOM=$n", "RANDOM=$n ls", "read RANDOM <<< $n", "read x HISTCMD < f",
        "for SECONDS in $n; do :; done", "mapfile RANDOM < f", "printf -vOPTIND %s $n", "SRANDOM=$n", "RANDOM[0]=$n",
        "PS4=$n; set -x; ls", "PS4='$(cmd)' bash -xc ls", "env PS4=$n bash -xc ls", "BASH_ENV=f bash -c ls",
        "export BASH_ENV=f; bash -c ls", "read BASH_ENV <<< f", ": ${BASH_ENV:=f}", "BASH_CMDS[ls]=rm; ls",
        # A value in parentheses is an array, and is expanded again.
        'declare -a x="$n"', 'typeset -xA x="$n"', 'declare -a x; declare x="$n"', 'x=(); declare x="$n"',
        'f() { local -a x="$n"; }; f', 'export -a x="$n"', 'readonly -a x="$n"', 'command declare -a x="$n"',
        'builtin typeset -a x="$n"',
        # A redirection's target is expanded twice if it may be a number.
        "ls >&$n", 'ls >& "$n"', "ls >&'a[$(cmd)]'", "cat <&$n", "exec {a[n]}>&1", "ls {a[n]}>&1", ": {a[n]}<<<x",
        # Unknown options, and known ones joined with others.
        'printf "-v$n" x', 'printf "$n" x', "printf $n 'a[$(cmd)]' x", "mapfile -tC cmd -c 1 x < f",
        'mapfile "$n" cmd < f', "find . $n cmd ';'", "find . -$n cmd ';'", "find . -e${n}ec cmd ';'",
        "find . \"$n\" cmd ';'", "jobs -x cmd",
    ],
)  # fmt: skip
def test_what_bash_may_run_by_a_value_makes_a_line_not_understood(line: str) -> None:
    assert parse(f"n=$(cat f); {line}").problems


@pytest.mark.parametrize(
    "line", ["find . <&--delete", "find . <&- -delete", "find . 0<&--delete", "find <&- . -delete"]
)
def test_what_follows_a_closed_descriptor_is_a_word_of_the_command(line: str) -> None:
    parsed = parse(line)
    assert not only_reads(parsed)
    assert parsed.problems or "-delete" in parsed.segments[0].words
    assert parse("sort g >&-v").segments[0].words == ("sort", "g", "v")


def test_a_trap_behind_the_end_of_options_is_a_command_of_the_line() -> None:
    assert [segment.words for segment in parse("trap -- 'cmd x' EXIT").segments] == [("cmd", "x")]


@pytest.mark.parametrize("shell", ["zsh", "ksh", "mksh", "fish"])
def test_a_script_for_another_shell_is_not_understood(shell: str) -> None:
    """Zsh evaluates even the words of `exit`."""
    for script in ("exit 'psvar[$(id)]'", "return x", "ls"):
        assert not only_reads(parse(f'{shell} -c "{script}"'))


@pytest.mark.parametrize(
    "script",
    [
        *("((ls))", "[[ -f x ]]", "ls &> f", "n+=1", "a=(x)", "cat <(ls)", "ls |& cat", "echo $'x'", "ls <<< x"),
        *("((1))", "a[1]=x"),
    ],
)
def test_a_script_for_sh_has_nothing_of_bash(script: str) -> None:
    """To dash `((ls))` is two subshells, and `n+=1` a program."""
    assert not parse(script).is_posix
    assert not only_reads(parse(f"sh -c '{script}'".replace("$'x'", '$"x"')))
    assert not only_reads(parse(script, is_for_sh=True))


@pytest.mark.parametrize(
    "line",
    [
        *("ls | head -3", "if [ -f x ]; then cat x; fi", 'for f in a b; do cat "$f" > /dev/null 2>&1; done'),
        *("cat <<E\n$x\nE", "(ls; pwd) && cat $(ls)", "case x in a|b) ls;; esac"),
    ],
)
def test_plain_lines_read_in_every_shell(line: str) -> None:
    assert only_reads(parse(line, is_for_sh=True))


@pytest.mark.parametrize(
    "options", ["-l", "-i", "-lc", "-ic", "--login", "--posix -c", "-O extglob -c", "--rcfile x -c", "-o posix -c"]
)
def test_a_shell_that_reads_more_than_its_script_is_not_understood(options: str) -> None:
    command = options if "c" in options.split()[-1][1:2] or options.endswith("c") else f"{options} -c"
    assert not only_reads(parse(f"bash {command} ls"))
    assert verdict("bash -c ls", sandboxed("on_write")) == Allow("strict")


def test_what_xargs_replaces_may_be_the_program() -> None:
    for line in (
        *("xargs -I cat cat x", "xargs -I{} {} x", "xargs -Ica cat", "xargs -I c cat", "xargs --replace=cat cat"),
    ):
        assert not only_reads(parse(line)), line
    assert only_reads(parse("xargs -I{} cat {}"))
