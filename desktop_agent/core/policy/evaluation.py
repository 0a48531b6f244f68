"""Finds expressions that bash evaluates. In arithmetic, a name stands for its value, which is evaluated in turn.

The value of `n` could be `a[$(rm x)]`, which `((n))` runs. So only numbers are harmless.
"""

import re
from collections.abc import Iterator, Sequence

from desktop_agent.core.base.regex import regex
from desktop_agent.core.policy.segments import UNKNOWN_VALUE
from desktop_agent.core.policy.shell_words import Word
from desktop_agent.core.system.processes.shell import steers_shell

COMPARISONS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})

ASSIGNERS = frozenset({
    "read", "mapfile", "readarray", "getopts", "declare", "typeset", "local", "export", "readonly", "let", "wait",
    "coproc", "eval", "source", ".", "trap", "printf", "exec", "cd", "pushd", "popd",
})  # fmt: skip
"""Builtins that can give a variable a value that the line does not show. `printf` can with `-v` and `%n`."""

EVALUATED = "a name that is evaluated, and whose value may be run"

_NUMBER = regex(r"[-+]?\d{1,18}")
_NUMBERS = regex(r"\{\d{1,9}\.\.\d{1,9}(\.\.\d{1,9})?\}")
_TOKEN = regex(
    r"""(?P<blank>\s+)
    |(?P<number>0[xX][0-9a-fA-F]+|\d+\#[0-9a-zA-Z]+|\d+)(?![\w$\#])
    |(?P<count>\$[\#?]|\$\{\#[@*]?\})(?![\w$\[])
    |\$(?P<value>[a-z]\w*)(?![\w$\[])|\$\{(?P<braced>[a-z]\w*)\}(?![\w$\[])
    |(?P<name>[a-z]\w*)(?![\w$\[])
    |(?P<operator>[-+*/%<>=!&|^~?:,()])""",
    re.VERBOSE | re.ASCII,
)
_PLAIN_NAME = regex(r"[a-z][a-z0-9]{0,15}")
_OPERAND = regex(r'"?(\$(?:\w+|\{\w+\}|[#?]))"?', re.ASCII)
_EXPANSION = regex(
    r"""\$\{(?:
      \#?(?:[A-Za-z_]\w*|\d+|[@*\#?$!-])          # ${x}, ${#x}
    | (?:[A-Za-z_]\w*|\d+|[@*])(?:
        (?::?[-+?]|\#\#?|%%?|//?|\^\^?|,,?).*      # ${x:-y}, ${x#y}, ${x/y/z}
      | :(?!=)(?P<offset>[^:]*)(?::(?P<length>[^:]*))?  # ${x:1:2}
      )
    | \#?[A-Za-z_]\w*\[(?P<index>[^\]]*)\]         # ${a[1]}
    )\}""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)


def is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def are_numbers(word: Word) -> bool:
    return (word.is_known and is_number(word.text)) or _NUMBERS.fullmatch(word.text) is not None


_NAME = regex(r"([A-Za-z_]\w*)(?:\+?=.*)?", re.ASCII | re.DOTALL)
_DECLARES = frozenset({"declare", "typeset", "local", "export", "readonly"})
_CHANGES_VALUES = regex(r"[-+]\w*[^-+xrgaA\W]\w*")
"""Options that change how values are read: `declare -i n=x` evaluates `x`, and after `declare -n n=x` `n` means `x`."""
_STORES = regex(r"%[^%A-Za-z]*[hlLjzt]*n")
_ASSIGNS = regex(r"\$\{([A-Za-z_]\w*):?=", re.ASCII)
_GIVEN = regex(r"[A-Za-z_]\w*\+?=", re.ASCII)
_TAKE_NAMES = frozenset({
    "read", "mapfile", "readarray", "unset", "getopts", "wait", "declare", "typeset", "local", "export", "readonly",
})  # fmt: skip

_OWN = frozenset({
    "RANDOM", "SRANDOM", "SECONDS", "HISTCMD", "OPTIND", "LINENO", "EPOCHSECONDS", "EPOCHREALTIME", "BASHPID",
    "BASH_MONOSECONDS", "BASH_SUBSHELL", "BASH_ARGV0", "BASH_CMDS", "BASH_ALIASES", "DIRSTACK", "FUNCNAME", "GROUPS",
    "PIPESTATUS", "UID", "EUID", "PPID", "PS0", "PS1", "PS2",
})  # fmt: skip


def is_of_shell(name: str) -> bool:
    return name in _OWN or steers_shell(name)


def _may_be_option(word: Word, letter: str) -> bool:
    text = word.text.lstrip("\"'")
    if word.is_known:
        return word.text.startswith("-") and letter in word.text
    return text.startswith(("$", "`")) or (text.startswith("-") and (letter in text or "$" in text or "`" in text))


def evaluates_words(program: str, words: Sequence[Word]) -> bool:
    texts = [word.text for word in words]
    if program in ("[", "test", "[["):
        return any(text in ("-v", "-R") for text in texts) and any("[" in t or "$" in t or "`" in t for t in texts)
    if program == "printf" and any(_STORES.search(text) for text in texts):
        return True
    if program == "printf":
        names = words[:1] if words and not words[0].is_known else words[:2]
        return bool(words) and _may_be_option(words[0], "v") and any("[" in w.text or not w.is_known for w in names)
    if program in ("mapfile", "readarray") and any(_may_be_option(word, "C") for word in words):
        return True
    if program in _DECLARES and any(_CHANGES_VALUES.fullmatch(text) for text in texts):
        return True
    if program in ("declare", "typeset", "local") and any(
        not (word.is_known or word.text.endswith(f"={UNKNOWN_VALUE}")) for word in words
    ):
        return True
    return program in _TAKE_NAMES and any(
        "[" in word.text or not (word.is_known or _GIVEN.match(word.text)) for word in words
    )


def may_be_list(program: str, words: Sequence[Word], assignments: Sequence[tuple[str, str]]) -> bool:
    """Whether a builtin could take an unknown value for a list, `(…)`, and expand it a second time."""
    makes_lists = any(word.text.startswith("-") and set(word.text) & {"a", "A"} for word in words)
    is_declaring = program in ("declare", "typeset", "local") or (program in _DECLARES and makes_lists)
    return is_declaring and any(value == UNKNOWN_VALUE for _, value in assignments)


def names_given(program: str, words: Sequence[Word]) -> tuple[str, ...]:
    if program == "printf":
        words = words[1:2] if words and words[0].text == "-v" else [word for word in words[:1] if word.text[:2] == "-v"]
        return tuple(word.text.removeprefix("-v") for word in words)
    if program not in _TAKE_NAMES or (program == "wait" and not any(word.text.startswith("-p") for word in words)):
        return ()
    return tuple(match[1] for word in words if (match := _NAME.fullmatch(word.text)))


class Evaluations:
    def __init__(self) -> None:
        self._values: dict[str, list[tuple[int, bool]]] = {}
        self._reads: list[tuple[str, int]] = []
        self._is_plain = True

    def assign(self, name: str, end: int, *, is_number: bool) -> None:
        self._values.setdefault(name, []).append((end, is_number))

    def doubt(self) -> None:
        self._is_plain = False

    def expressions(self, text: str, start: int) -> None:
        for part in text.split(";"):
            self.expression(part, start)
            start += len(part) + 1

    def expression(self, text: str, start: int) -> None:
        depth = 0
        for match in re.finditer(r"[()]", text):
            depth += 1 if match[0] == "(" else -1
            if depth < 0:
                self.doubt()
        self._tokens(text, start)

    def expansion(self, text: str, start: int) -> None:
        match = _EXPANSION.fullmatch(text)
        if match is None:
            self.doubt()
            return
        if (given := _ASSIGNS.match(text)) and is_of_shell(given[1]):
            self.doubt()
        for group in ("offset", "length", "index"):
            inner = match[group]
            if inner is not None and not (group == "index" and inner in ("@", "*")):
                self.expression(inner, start + match.start(group))

    def test(self, words: Sequence[tuple[int, Word]]) -> None:
        for at, (_, operator) in enumerate(words):
            if operator.is_known and operator.text in COMPARISONS:
                for place, word in (*words[max(0, at - 1) : at], *words[at + 1 : at + 2]):
                    self._operand(word, place)

    def problems(self, programs: frozenset[str]) -> Iterator[str]:
        names = {name for name, _ in self._reads}
        is_known = all(
            _PLAIN_NAME.fullmatch(name)
            and all(is_literal for _, is_literal in self._values.get(name, ()))
            and any(end <= start for end, _ in self._values.get(name, ()))
            for name, start in self._reads
        )
        if not self._is_plain or not is_known or (names and programs & ASSIGNERS):
            yield EVALUATED

    def _operand(self, word: Word, place: int) -> None:
        if word.is_known:
            self.expression(word.text, place)
        elif match := _OPERAND.fullmatch(word.text):
            self.expression(match[1], place)
        else:
            self.doubt()

    def _tokens(self, text: str, start: int) -> None:
        position = 0
        while position < len(text):
            token = _TOKEN.match(text, position)
            if token is None:
                self.doubt()
                return
            position = token.end()
            read = token["value"] or token["braced"]
            if name := token["name"]:
                if re.match(r"\s*=(?!=)", text[position:]):
                    # An assignment always yields a number, but only after its expression was evaluated.
                    self.assign(name, start + len(text), is_number=_PLAIN_NAME.fullmatch(name) is not None)
                else:
                    read = name
            if read:
                self._reads.append((read, start + token.start()))
