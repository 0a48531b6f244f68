"""The programs that a command line runs, as a table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.policy.engine import Ask
from desktop_agent.core.policy.read_only_commands import only_reads
from desktop_agent.core.policy.shell import MOST_SIGNS, parse
from tests.core.policy.lines import rule, sandboxed, verdict


def programs(command: str) -> list[str]:
    return [segment.program for segment in parse(command).segments if segment.parts]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        # Z-93: every command of the line counts, not its first word.
        ("ls ; rm -rf ~", ["ls", "rm"]),
        ("echo hi && curl x | sh -c 'cat'", ["echo", "curl", "cat"]),
        ("grep x $(rm y)", ["grep", "rm"]),
        ("FOO=1 ls", ["ls"]),
        ("/bin/ls -l", ["ls"]),
        ("ls & rm x", ["ls", "rm"]),
        ("ls\nrm x", ["ls", "rm"]),
        ("ls || rm x", ["ls", "rm"]),
        ("(ls; rm x)", ["ls", "rm"]),
        ("{ ls; rm x; }", ["ls", "rm"]),
        ("! rm x", ["rm"]),
        ("echo `rm x`", ["echo", "rm"]),
        ('echo "$(rm x)"', ["echo", "rm"]),
        ("cat <(rm x)", ["cat", "rm"]),
        ("ls > >(tee y)", ["ls", "tee"]),
        ("if true; then rm x; else ls; fi", ["true", "rm", "ls"]),
        ("for f in $(find .); do rm $f; done", ["find", "rm"]),
        ("while read l; do rm $l; done", ["read", "rm"]),
        ("case x in a|b) rm x;; esac", ["rm"]),
        ("case $(rm y) in *) ls;; esac", ["rm", "ls"]),
        ("until ls; do rm x; done", ["ls", "rm"]),
        ("f() { rm x; }", ["rm"]),
        ("cat <<E\n$(rm x)\nE", ["cat", "rm"]),
        ("cat <<< $(rm x)", ["cat", "rm"]),
        ("echo ${x:-$(rm y)}", ["echo", "rm"]),
        ("x=$(rm y)", ["rm"]),
        ("a=(1 $(rm y))", ["rm"]),
        ("[[ -f $(rm x) ]]", ["[[", "rm"]),
        ("export A=$(rm x)", ["export", "rm"]),
        ("ls # ; rm x", ["ls"]),
        ("echo '; rm x'", ["echo"]),
        ("cat <<'E'\n$(rm x)\nE", ["cat"]),
        ("> f rm x", ["rm"]),
        ("ls > f -la", ["ls"]),
    ],
)
def test_every_command_in_a_line_is_found(command: str, expected: list[str]) -> None:
    assert programs(command) == expected
    assert parse(command).problems == ()


@pytest.mark.parametrize(
    ("command", "words", "wrappers"),
    [
        ("sudo rm x", ("rm", "x"), ("sudo",)),
        ("sudo -u root -n rm x", ("rm", "x"), ("sudo",)),
        ("env -i A=1 rm x", ("rm", "x"), ("env",)),
        ("env -u B rm x", ("rm", "x"), ("env",)),
        ("nice -n 5 rm x", ("rm", "x"), ("nice",)),
        ("nohup rm x", ("rm", "x"), ("nohup",)),
        ("time rm x", ("rm", "x"), ("time",)),
        ("timeout -k 1 5 rm x", ("rm", "x"), ("timeout",)),
        ("stdbuf -oL rm x", ("rm", "x"), ("stdbuf",)),
        ("setsid rm x", ("rm", "x"), ("setsid",)),
        ("command rm x", ("rm", "x"), ("command",)),
        ("builtin echo x", ("echo", "x"), ("builtin",)),
        ("exec rm x", ("rm", "x"), ("exec",)),
        ("xargs -0 rm", ("rm", "…"), ("xargs",)),
        ("bash -c 'rm x'", ("rm", "x"), ("bash",)),
        ("sh -lc 'rm x'", ("rm", "x"), ("sh",)),
        ("bash -o pipefail -c 'rm x'", ("rm", "x"), ("bash",)),
        ("/usr/bin/env bash -euc 'sudo rm x'", ("rm", "x"), ("env", "bash", "sudo")),
        ("eval 'rm x'", ("rm", "x"), ("eval",)),
        ("eval rm x", ("rm", "x"), ("eval",)),
        ("trap 'rm x' EXIT", ("rm", "x"), ("trap",)),
        ("doas nice timeout 3 rm x", ("rm", "x"), ("doas", "nice", "timeout")),
        ("busybox rm x", ("rm", "x"), ("busybox",)),
    ],
)
def test_what_wraps_a_command_is_taken_off(command: str, words: tuple[str, ...], wrappers: tuple[str, ...]) -> None:
    (segment,) = parse(command).segments
    assert (segment.words, segment.wrappers) == (words, wrappers)


@pytest.mark.parametrize(
    "command",
    ["find . -exec rm {} \\;", "find . -execdir rm {} +", "find . -ok rm {} ';'", "ssh host rm x", "ssh h 'rm x'"],
)
def test_a_program_that_runs_another_one_counts_beside_it(command: str) -> None:
    assert programs(command) == [command.split()[0], "rm"]


@pytest.mark.parametrize(
    "word", ["rm", r"\rm", "r''m", '"rm"', "'rm'", 'r"m"', r"r\m", "/bin/rm", "/usr/bin/rm", "''rm"]
)
def test_a_program_is_known_however_it_is_quoted(word: str) -> None:
    """Z-92: `e""cho` is `echo`."""
    (segment,) = parse(f"{word} x").segments
    assert segment.words == ("rm", "x")
    assert segment.is_static


@pytest.mark.parametrize(
    "command",
    ["$X y", "rm${IFS}x", "rm$IFS-rf", "r{m,} x", "$'rm' x", "r?m x", "$(echo rm) x", "`echo rm` x", "=rm x", "${X} y"],
)
def test_a_program_nobody_knows_is_not_static(command: str) -> None:
    assert not parse(command).segments[0].is_static or parse(command).problems


@pytest.mark.parametrize(
    "command",
    [
        "foo (", "echo 'abc", 'echo "abc', "ls -l; }", "ls | ", "if ls", "r\\\nm x", "eval $X",
        "bash -c \"$X\"", ". ./x",
        "source x", "curl x | sh", "bash < x", "bash <<E\nrm x\nE", "python -c 'x'", "python3 -c 'x'", "python3 - < x",
        "perl -e 'x'", "node -e 'x'", "ruby -e x", "alias ls=rm; ls", "ls() { rm x; }; ls", "function ls { rm x; }; ls",
        "env -S 'rm x'", "su -c 'rm x'", "watch rm x", "set -k; ls", "hash -p /x/y ls", "a='x[$(rm y)]'; echo $((a))",
        "[ -v 'x[$(rm y)]' ]", "[[ 'x[$(rm y)]' -eq 1 ]]", "echo ${x@P}", "ls \x07", "ls\rrm x", "cat <<A <<B\nA\nB",
        "awk 'BEGIN{system(\"rm x\")}'", "echo $'\\' ; rm x #'", "ls &> f rm x", "ls\n\\\n rm x",
        "cat <$\nrm x", "[[[ | rm = x ]] && ls",
         "shopt -s expand_aliases",
        "fish -c 'rm x'",
        "bash --rcfile x -c ls", "timeout --unknown 3 rm x", "echo \ud800", "PS4='$(rm x)' ls",
    ],
)  # fmt: skip
def test_what_was_not_understood_is_said(command: str) -> None:
    parsed = parse(command)
    assert parsed.problems or not parsed.segments[0].is_static


def test_a_redirection_knows_what_it_writes() -> None:
    (segment,) = parse("ls 2>/dev/null > out 2>&1 < in >> log &> both >&-").segments
    assert [(item.target.text, item.is_write) for item in segment.redirections] == [
        ("/dev/null", False), ("out", True), ("1", False), ("in", False), ("log", True), ("both", True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "command",
    [
        "{ ls; } > f", "(ls) > f", "for i in a; do ls; done > f", "if ls; then ls; fi > f", "bash -c ls > f",
        "case x in a) ;; esac > f", "ls && ls > f", "ls | cat > f", "! ls > f", "> f", "x=1 > f",
        "while ls; do ls; done > f",
    ],
)  # fmt: skip
def test_a_redirection_around_several_commands_is_not_lost(command: str) -> None:
    writes = [item.target.text for segment in parse(command).segments for item in segment.redirections]
    assert writes == ["f"]


def test_the_source_of_a_command_is_a_part_of_the_line() -> None:
    parsed = parse('echo "é" && sudo bash -c "rm ü" | tee ä')
    assert [parsed.source(segment) for segment in parsed.segments] == ['echo "é"', 'sudo bash -c "rm ü"', "tee ä"]


HOSTILE = {
    "brackets": "(" * 16_000, "redirections": "<" * 16_000, "pipes": "a|" * 16_000, "words": "a " * 16_000,
    "arrays": "a=(" * (MOST_SIGNS // 2), "substitutions": "$(" * (MOST_SIGNS // 2), "commands": "a;" * 16_000,
    "documents": "cat <<a " * (MOST_SIGNS // 2), "wrappers": "env " * 3_000, "evals": "eval " * 3_000 + "x",
    "nested": "bash -c '" * 100, "quotes": "'" * 32_000, "too long": "x" * 40_000, "functions": "f() " * MOST_SIGNS,
    "assignments": "a=b " * 3_900, "bangs": "! " * 3_900, "lines": "ls\n" * 3_900,
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_line_that_would_take_long_is_given_up_on(name: str) -> None:
    """Every line takes less than 50 ms; without the limits some take seconds."""
    parsed = parse(HOSTILE[name])
    assert parsed.problems or len(parsed.segments) <= 400


@given(st.text(alphabet="abrmls -;&|<>()${}`'\"\\\n#=[]*?~!0", max_size=60))
def test_parsing_never_raises_and_every_span_is_in_the_line(command: str) -> None:
    parsed = parse(command)
    for segment in parsed.segments:
        assert 0 <= segment.start <= segment.end <= len(command)


@pytest.mark.parametrize("command", ["{\U00107ea9ü\U000c6b86", "echo {a,b} '🎉'", "{\U000f0000", "bash -c 'echo {🎉'"])
def test_what_would_crash_the_grammar_is_not_given_to_it(command: str) -> None:
    assert "a brace in front of a rare character" in parse(command).problems


@pytest.mark.parametrize(
    "line",
    ["ls {} \n\\rm x", "ls x\n\\rm", "echo {}\n\\\nrm", "x=${x:-`rm y`}", "x=${x:-<(rm y)}", "ls {PATH}<f; ls",
     "printf %n PATH; ls", "sort -o1<f", "\\declare -i n=$(cat f)", "\\export PATH=4; ls",
     "builtin declare -n n=PATH; n=4; ls", "head -1<f", "cat <<E\n$(bash -c 'ls\\\n x')\nE",
     "timeout $x ls", "timeout * ls", 'nice -n "$x" ls', "env A=$x ls", "timeout -s $x 5 ls", "read PATH; ls",
     "printf -v PATH 4; ls", "mapfile PATH; ls", "x=$(( (1) )) $((rm) ; (x))", "unset PATH; ls",
     "getopts x PATH; ls",
     "echo ${x:-$((n=$'a[\\x24(rm)]'))}", "wait -p PATH; ls", "xargs -I ls ls"],
)  # fmt: skip
def test_what_bash_runs_behind_the_grammars_back_is_never_taken_for_reading(line: str) -> None:
    """Found by running lines in bash and comparing."""
    assert not only_reads(parse(line))
    assert isinstance(verdict(line, sandboxed("on_write", rule("ls"), rule("printf"), rule("read"), rule("echo"))), Ask)
