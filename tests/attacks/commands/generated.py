"""Generates random command lines from all of bash's ways to run programs and evaluate values."""

import random

READERS = (
    "ls", "cat f", "cat g", "wc -l f", "head -1 f", "echo hi", "grep x g", "true", "sort g", "printf '%s\\n' a",
    "pwd", "tail g", ":",
)  # fmt: skip
WRITERS = ("rm x", "make", "git push", "curl -d @f h", "python3 x.py", "npm test", "sed -i s/a/b/ f", "tee f")
WRAPPERS = (
    "{}", "env {}", "env A=1 {}", "nice {}", "nice -n 3 {}", "timeout 5 {}", "nohup {}", "time {}", "command {}",
    "exec {}", "xargs {}", "xargs -n 1 {}", "xargs -I{{}} {}", "xargs -I c {}", "xargs -Il {}",
    "find . -maxdepth 1 -exec {} \\;", "find . -maxdepth 0 -exec {} +", "builtin {}", "! {}", "A=1 {}", "n=2 {}",
    "LC_ALL=C {}", "PATH=3 {}", "/usr/bin/env {}", "env -i {}", "env -u A {}", "coproc {}",
)  # fmt: skip
QUOTED = (
    "bash -c {}", "sh -c {}", "eval {}", "bash -ec {}", "trap {} EXIT", "bash -lc {}", "env bash -c {}",
    "eval echo {}",
)  # fmt: skip
VALUES = (
    "1", "23", "-4", "0x1f", "x", "a", "n", "m", "'a[$(canary)]'", "$(cat f)", "$(printf 'a[\\44(canary)]')",
    "`cat f`", '"$(cat f)"', "$m", "$((1+2))", "$((m))", "'a[0]'", "''", "$f", "a'['", "$'a[\\x24(canary)]'",
    '"a[\\$(canary)]"', "PATH", "'n=1'", "*", "f", "$(canary)", "${m:-1}", "${m:=2}", "{1..3}", "1+1", "'1,PATH=4'",
    "\\1", "08", "9#9", "$#", "$?", "'-v a[m]'", "-v", "ls", "$(echo ls)",
)  # fmt: skip
NAMES = ("n", "m", "i", "x", "a", "PATH", "n1", "IFS", "RANDOM", "SECONDS", "OPTIND", "BASH_ENV", "PS4")
OPERATORS = (
    "+", "-", "*", "/", "%", "<", ">", "<=", "==", "!=", "&&", "||", ",", "=", "+=", "-=", "<<", ">>", "&", "|", "^",
    "?1:", "**",
)  # fmt: skip
TESTS = ("-eq", "-ne", "-lt", "-le", "-gt", "-ge", "=", "==", "!=", "<", ">", "=~", "-nt", "-ef", "-a", "-o")
UNARY = ("-v", "-n", "-z", "-f", "-d", "-e", "-R", "-t", "-o", "-s")
BUILTINS = (
    "read {n}", "read -r {n} <f", "read -a {n}", "mapfile {n} <f", "mapfile -C ls -c 1 {n} <g",
    "readarray -t {n} <f", "declare {n}={v}", "declare -i {n}", "declare -i {n}={v}", "declare -n {n}={v}",
    "declare -a {n}", "typeset {n}={v}", "export {n}={v}", "export {n}", "readonly {n}={v}", "let {n}",
    "let {n}={v}", "let '{n}+=1'", "unset {n}", "unset 'a[{n}]'", "printf -v {n} %s {v}", "printf -v 'a[{n}]' x",
    "printf '%d%n' 1 {n}", "printf 'xxx%n' {n}", "printf '%5s\\n' {v}", "wait -p {n}", "getopts x {n}",
    "test -v {n}", "test {v} -eq 1", "set -- {v}", "set -x", "set -e", "shift {n}", "exit {v}", "return {v}",
    "break {v}", "cd .", "cd {v}", "type ls", "hash -p /usr/bin/rm ls", "alias ls=rm", "shopt -s extglob",
    "enable -n echo", "local {n}={v}", ". ./f", "source f", "command -v {v}", "umask {v}", "ulimit -n {v}",
    "exec {{n}}<f", "compgen -W {v}", "echo {v}", "printf %b {v}", "[ {v} ]", "[ -v {n} ]", "wait", "caller",
    "times", "dirs", "pushd .", "declare -a {n}={v}", "declare -ax {n}={v}", "export -a {n}={v}",
    "readonly -a {n}={v}", "command declare -a {n}={v}", "trap -- {v} EXIT", "mapfile -tC {v} -c 1 {n} <g",
    "printf -v{n} %s {v}", "printf {v} {v} x", "jobs -x {v}", "read {n} <<< {v}", "find . -maxdepth 0 {v} ls {{}} +",
)  # fmt: skip
PIECES = (
    " ", "'", '"', "\\", "$", "(", ")", "`", ";", "|", "&", "<", ">", "\n", "{", "}",
    "[", "]", "((", "))", "#", "!", "=", "$(", "1", "n", "*", "~", "\t", "\\\n",
)  # fmt: skip
"""Characters that are inserted to break a line."""


class Lines:
    def __init__(self, seed: int, corpus: tuple[str, ...] = ()) -> None:
        self._random = random.Random(seed)
        self._corpus = corpus

    def line(self) -> str:
        pick = self._random.random()
        if self._corpus and pick < 0.15:
            return self._mutated(self._random.choice(self._corpus))
        line = self._list(self._random.randint(1, 3))
        return self._mutated(line) if pick < 0.35 else line

    def _one(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _list(self, length: int, depth: int = 0) -> str:
        parts = [self._statement(depth) for _ in range(length)]
        line = parts[0]
        for part in parts[1:]:
            line += self._one("; ", "; ", " && ", " || ", " | ", " & ", "\n", ";", "|", " |& ") + part
        return line

    def _statement(self, depth: int) -> str:
        chance = self._random.random()
        if depth > 2 or chance < 0.4:
            return self._simple(depth)
        if chance < 0.6:
            return self._evaluating()
        inner = self._list(self._random.randint(1, 2), depth + 1)
        other = self._statement(depth + 1)
        name = self._one(*NAMES)
        return self._one(
            f"( {inner} )",
            f"{{ {inner}; }}",
            f"if {other}; then {inner}; fi",
            f"for {name} in {self._value()} {self._value()}; do {inner}; done",
            f"while {other}; do {inner}; break; done",
            f"until {other}; do {inner}; break; done",
            f"case {self._value()} in *) {inner};; esac",
            f"case x in {self._value()}) {inner};; *) {other};; esac",
            f"echo $({inner})",
            f'echo "$({inner})"',
            f"cat <({inner})",
            f"q() {{ {inner}; }}; {other}",
            f"q() {{ {inner}; }}; q",
            f"cat <<E\n$({inner})\nE",
            f"cat <<'E'\n$({inner})\nE",
            f"cat <<< $({inner})",
            f"{name}=$({inner})",
            f"for (({name}={self._expression()};{self._expression()};{name}++)); do {inner}; break; done",
            f"function q {{ {inner}; }}; q",
            f"[[ -n $({inner}) ]]",
            f"echo ${{x:-$({inner})}}",
            f"((1)) && {inner}",
            f"! {{ {inner}; }}",
            f"select {name} in a; do {inner}; break; done",
            f"(({inner}))",
            f"(( 1 ) ; ( {inner} ))",
            f"echo $(({inner}))",
            f"ls() {{ {inner}; }}; ls",
        )

    def _simple(self, depth: int) -> str:
        chance = self._random.random()
        if chance < 0.2:
            return f"{self._name()}{self._one('=', '=', '=', '+=')}{self._value()}"
        if chance < 0.32:
            return self._one(*BUILTINS).format(n=self._name(), v=self._value())
        command = self._one(*READERS) if chance < 0.85 else self._one(*WRITERS)
        if self._random.random() < 0.25:
            command += f" {self._value()}"
        if self._random.random() < 0.15:
            command = self._requoted(command)
        if self._random.random() < 0.25:
            command = self._one(*WRAPPERS).format(command)
        if depth < 2 and self._random.random() < 0.08:
            inner = self._list(self._random.randint(1, 2), depth + 1).replace("'", '"')
            command = self._one(*QUOTED).format(f"'{inner}'")
        if self._random.random() < 0.15:
            command += self._one(
                " > /dev/null",
                " 2>&1",
                " < f",
                " > w",
                " <<< x",
                " &> /dev/null",
                " >&2",
                " {n}< f",
                " 2>/dev/null",
                " <&-",
                " {PATH}<f",
                " {a[n]}>&1",
                f" >&{self._value()}",
                f" <&{self._value()}",
            )
        return command

    def _evaluating(self) -> str:
        name, expression, value = self._name(), self._expression(), self._value()
        return self._one(
            f"(({expression}))",
            f"echo $(({expression}))",
            f"echo $[{expression}]",
            f"[[ {self._operand()} {self._one(*TESTS)} {self._operand()} ]]",
            f"[ {self._operand()} {self._one(*TESTS)} {self._operand()} ]",
            f"[[ {self._one(*UNARY)} {self._operand()} ]]",
            f"[ {self._one(*UNARY)} {self._operand()} ]",
            f"test {self._operand()} {self._operand()}",
            f"a[{expression}]={value}",
            f"a=([{expression}]={value})",
            f"a=({value} {value})",
            f"{name}=${{x:{expression}}}",
            f"{name}=${{a[{expression}]}}",
            f"{name}=${{x:0:{expression}}}",
            f"echo ${{a[{expression}]}}",
            f"cat <<< ${{x:{expression}}}",
            f"cat <<E\n$(({expression}))\nE",
            f"cat <<E\n${{a[{expression}]}} $n\nE",
            f"x=${{!{name}}}",
            f"x=${{{name}@P}}",
            f"x=${{#a[{expression}]}}",
            f"x=${{{name}:={value}}}",
            f"x=${{{name}/x/{value}}}",
            f"echo ${{{name}%{value}}}",
            f"x=$(({name}={expression}))",
            f"for (({expression};{expression};{expression})); do break; done",
            f"x=${{@:{expression}}}",
            f"{name}={value}; (({name}))",
            f"{name}={value}; [[ {name} -eq 0 ]]",
            f"{name}={value}; [[ ${name} -lt 3 ]]",
            f"{name}={value}; x=${{x:{name}}}",
            f"x=${{{name}:-{value}}}",
            f"x=${{{name}^^}}",
            f"a[{name}]={value}",
            f"unset 'a[{expression}]'",
            f"[[ x =~ {value} ]]",
            f'x="${{a[{expression}]}}"',
        )

    def _expression(self) -> str:
        parts = [self._operand() for _ in range(self._random.randint(1, 3))]
        line = parts[0]
        for part in parts[1:]:
            line += self._one(*OPERATORS) + part
        return self._one(line, line, f"({line})", f" {line} ", f"{line}++", f"!{line}")

    def _operand(self) -> str:
        name = self._name()
        return self._one(
            "1",
            "2",
            "0",
            name,
            f"${name}",
            f'"${name}"',
            f"${{{name}}}",
            f"a[{name}]",
            "a[0]",
            f"'{name}'",
            self._value(),
            "10#1",
            f"10#${name}",
        )

    def _name(self) -> str:
        return self._one("n", "n", "n", "m", "m", "i", *NAMES)

    def _value(self) -> str:
        return self._one(*VALUES)

    def _requoted(self, command: str) -> str:
        program, _, rest = command.partition(" ")
        at = self._random.randint(0, len(program))
        written = self._one(
            f"{program[:at]}''{program[at:]}",
            f'"{program}"',
            f"'{program}'",
            f"\\{program}",
            f"/usr/bin/{program}",
            f"./{program}",
            f"{program[:at]}\\\n{program[at:]}",
            f"$'{program}'",
            f"{program}$n",
            f"4/{program}",
            f"/bin/{program}",
        )
        return f"{written} {rest}".rstrip()

    def _mutated(self, line: str) -> str:
        for _ in range(self._random.randint(1, 3)):
            at = self._random.randint(0, len(line))
            piece = self._one(*PIECES)
            end = min(len(line), at + self._random.randint(0, 2))
            line = self._one(line[:at] + piece + line[at:], line[:at] + line[end:], line[:at] + piece + line[end:])
        return line
