"""Splits text into words as a shell does, and checks that the parser's tree accounts for the whole line."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct
from tree_sitter import Node

from desktop_agent.core.base.regex import regex

WordKind = Literal["known", "simple", "complex"]
"""`simple`: unknown value without side effects, such as a variable, a glob or a command's output."""

_BLANKS = " \t\n"
_OPERATORS = ";&|<>()"
_VARIABLE = regex(r"\$(\w+|[-!?@*#$])", re.ASCII)
_SIMPLE_HOLES = frozenset({"simple_expansion", "plain_expansion", "command_substitution"})


class Word(Struct, frozen=True):
    text: str
    kind: WordKind = "known"

    @property
    def is_known(self) -> bool:
        return self.kind == "known"


class Hole(Struct, frozen=True):
    end: int
    kind: str


class NotAWordError(Exception):
    """The parser took the text for something else. The message says how."""


def decode_word(source: str, start: int, end: int, holes: Mapping[int, Hole]) -> Word:
    """Return the word between `start` and `end`. Raises `NotAWordError` unless a shell would see exactly one word."""
    if source[start:end][:1] in (" ", "\t", "\n"):
        raise NotAWordError("a word that begins behind its line")  # the grammar takes `\n\\x` for a word
    words = split_words(source, start, end, holes)
    if len(words) != 1:
        raise NotAWordError("words that run together")
    return words[0]


def split_words(source: str, start: int, end: int, holes: Mapping[int, Hole]) -> list[Word]:
    """Return the words between `start` and `end`. Raises `NotAWordError` at an operator or for unbalanced quotes."""
    reader = _Reader(source, start, end, holes)
    words: list[Word] = []
    while True:
        while reader.position < end and source[reader.position] in _BLANKS:
            reader.position += 1
        if reader.position >= end:
            return words
        words.append(reader.word())


class _Reader:
    def __init__(self, source: str, start: int, end: int, holes: Mapping[int, Hole]) -> None:
        self._source = source
        self._end = end
        self._holes = holes
        self.position = start
        self._text: list[str] = []
        self._kind: WordKind = "known"

    def word(self) -> Word:
        begin = self.position
        self._text, self._kind = [], "known"
        if self._source[begin] == "#":
            raise NotAWordError("a comment where a word was expected")
        while self.position < self._end and self._source[self.position] not in _BLANKS:
            self._unquoted()
        raw = self._source[begin : self.position]
        braced = raw.replace("{}", "")  # `{}` stands for itself, also inside a word
        if self._kind == "known" and {"{", "}"} <= set(braced) and not raw.startswith(("'", '"')):
            self._kind = "complex"
        return Word("".join(self._text) if self._kind == "known" else raw, self._kind)

    def _unquoted(self) -> None:
        if self._hole():
            return
        char = self._source[self.position]
        match char:
            case "'":
                self._single_quoted()
            case '"':
                self._double_quoted()
            case "\\":
                following = self._source[self.position + 1 : self.position + 2]
                if following in ("", "\n") or self.position + 2 > self._end:
                    raise NotAWordError("a line that goes on inside a word")
                self._take(following, 2)
            case "$" | "`":
                self._lone_sign(char)
            case "*" | "?" | "[":
                self._weaken("simple")
                self._take(char, 1)
            case _ if char in _OPERATORS:
                raise NotAWordError("an operator inside a word")
            case _:
                self._take(char, 1)

    def _single_quoted(self) -> None:
        close = self._source.find("'", self.position + 1, self._end)
        if close < 0:
            raise NotAWordError("a quote that does not end")
        if any(self.position < place < close for place in self._holes):
            raise NotAWordError("an expansion inside single quotes")
        self._take(self._source[self.position + 1 : close], close + 1 - self.position)

    def _double_quoted(self) -> None:
        self.position += 1
        while self.position < self._end:
            if self._hole():
                continue
            char = self._source[self.position]
            if char == '"':
                self.position += 1
                return
            if char == "\\":
                following = self._source[self.position + 1 : self.position + 2]
                if following == "\n":
                    self.position += 2
                else:
                    self._take(following if following and following in '$`"\\' else "\\" + following, 2)
            elif char in "$`":
                self._lone_sign(char)
            else:
                self._take(char, 1)
        raise NotAWordError("a quote that does not end")

    def _hole(self) -> bool:
        hole = self._holes.get(self.position)
        if hole is None:
            return False
        if hole.end > self._end:
            raise NotAWordError("an expansion that does not end")
        if hole.kind == "simple_expansion" and not _VARIABLE.fullmatch(self._source, self.position, hole.end):
            raise NotAWordError("an expansion that was not recognised")
        self._weaken("simple" if hole.kind in _SIMPLE_HOLES else "complex")
        self.position = hole.end
        return True

    def _lone_sign(self, char: str) -> None:
        """Take a literal `$`. Any other `$`, or a backtick, is an expansion that the parser should have reported."""
        following = self._source[self.position + 1 : min(self.position + 2, self._end)]
        if char == "`" or following.isalnum() or (following and following in "_{([!#@*?$-'\""):
            raise NotAWordError("an expansion that was not recognised")
        self._take(char, 1)

    def _take(self, text: str, length: int) -> None:
        self._text.append(text)
        self.position += length

    def _weaken(self, kind: WordKind) -> None:
        if self._kind != "complex":
            self._kind = kind


DEEPEST = 80

WORDS = frozenset({
    "word", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation", "number", "simple_expansion",
    "expansion", "command_substitution", "process_substitution", "arithmetic_expansion", "brace_expression",
    "extglob_pattern", "regex",
})  # fmt: skip
HOLES = frozenset({
    "simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion",
    "ansi_c_string", "translated_string", "brace_expression", "extglob_pattern",
})  # fmt: skip
GROUPS = frozenset({
    "program", "list", "subshell", "compound_statement", "negated_command", "if_statement", "elif_clause",
    "else_clause", "while_statement", "for_statement", "c_style_for_statement", "case_statement", "case_item",
    "do_group", "variable_assignments", "command_substitution", "process_substitution",
})  # fmt: skip
PASS_DOWN = frozenset({
    "command", "declaration_command", "unset_command", "test_command", "list", "pipeline", "negated_command",
    "variable_assignment", "redirected_statement",
})  # fmt: skip
REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
ARITHMETIC = frozenset({
    "binary_expression", "unary_expression", "postfix_expression", "ternary_expression", "parenthesized_expression",
})  # fmt: skip
ATOMS = WORDS | {"comment", "heredoc_body", "heredoc_end", "heredoc_start", "variable_assignment", "test_command"}
RESERVED = frozenset({
    "then", "else", "elif", "fi", "do", "done", "case", "esac", "in", "function", "select", "until", "while", "if",
    "for", "{", "}", "end", "always", "]]", "!",
})  # fmt: skip
EVALUATE = frozenset({
    "[[", "[", "test", "let", "declare", "typeset", "local", "export", "readonly", "printf", "unset", "read", "mapfile",
    "readarray", "wait", "getopts",
})  # fmt: skip
"""Builtins that may evaluate an index such as `a[$(rm x)]` in a quoted word."""

STATEMENTS = GROUPS - {"command_substitution", "process_substitution"} | {
    "command", "declaration_command", "unset_command", "test_command", "redirected_statement", "pipeline",
    "function_definition",
}  # fmt: skip


def _atoms(node: Node) -> Iterator[Node]:
    for child in node.children:
        if child.type in ATOMS or (child.child_count == 0):
            yield child
        else:
            yield from _atoms(child)


def holes_of(node: Node) -> dict[int, Hole]:
    found: dict[int, Hole] = {}
    pending = [node]
    while pending:
        current = pending.pop()
        if current.type in HOLES:
            kind = current.type
            if kind == "expansion" and re.fullmatch(r"\$\{\w+\}", node_text(current), re.ASCII):
                kind = "plain_expansion"
            found[current.start_byte] = Hole(current.end_byte, kind)
        else:
            pending += current.children
    return found


def is_plain_body(text: str, start: int, body: Node | None) -> bool:
    return knows_substitutions(text, start, [body] if body else [], _IN_DOCUMENT) and not re.search(r"\\[\\\n]", text)


_IN_DOCUMENT = regex(r"(?<!\\)(\$\(|`|\$\{|\$\[)")
IN_EXPANSION = regex(r"(?<!\\)(\$\(|`|\$\{|\$\[|[<>]\()")


def knows_substitutions(text: str, start: int, nodes: Iterable[Node], begins: re.Pattern[str]) -> bool:
    covered = [range(place, hole.end) for node in nodes for place, hole in holes_of(node).items()]
    return all(any(start + match.start() in span for span in covered) for match in begins.finditer(text))


def is_too_deep(root: Node) -> bool:
    level = [root]
    for _ in range(DEEPEST):
        level = [child for node in level for child in node.children]
        if not level:
            return False
    return True


_POSIX = frozenset(
    {
        "program", "list", "pipeline", "command", "command_name", "word", "string", "string_content", "raw_string",
        "concatenation", "number", "simple_expansion", "expansion", "variable_name", "special_variable_name",
        "command_substitution", "variable_assignment", "variable_assignments", "file_redirect", "heredoc_redirect",
        "heredoc_start", "heredoc_body", "heredoc_content", "heredoc_end", "file_descriptor", "redirected_statement",
        "subshell", "compound_statement", "negated_command", "if_statement", "elif_clause", "else_clause",
        "while_statement", "for_statement", "case_statement", "case_item", "do_group", "function_definition",
        "comment", "test_command", "binary_expression", "unary_expression", "test_operator",
        # The tokens between them.
        "&&", "||", "|", "&", ";", ";;", "(", ")", "{", "}", "\n", "<", ">", ">>", ">&", "<&", ">|", "<<", "<<-", "=",
        "!=",
        "!", "[", "]", "$", "${", "$(", "`", '"', "#", "-", ":-", "+", ":+",
        "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for", "in", "case", "esac",
    }
)  # fmt: skip


def is_posix(root: Node) -> bool:
    pending = [root]
    while pending:
        node = pending.pop()
        is_plain_pattern = node.type == "extglob_pattern" and "(" not in node_text(node)  # `a|b)` of a `case`
        if node.type not in _POSIX and not is_plain_pattern:
            return False
        pending += node.children
    return True


def node_text(node: Node) -> str:
    return (node.text or b"").decode("latin-1")


def unaccounted(node: Node, source: str, start: int, end: int) -> list[str]:
    atoms = sorted((a for a in _atoms(node) if a.end_byte > a.start_byte), key=lambda a: a.start_byte)
    position, was_word = start, False
    for atom in atoms:
        gap = source[position : atom.start_byte] if atom.start_byte >= position else "?"
        blank = gap.replace("\\\n", "")
        is_word = atom.type in ATOMS or re.fullmatch(r"[\w{}!]+|\[+", atom.type) is not None
        runs_together = was_word and is_word and not blank
        if blank.strip(" \t\n") or (gap and not blank) or (runs_together and source[atom.start_byte - 1] not in "\n;"):
            return ["text that was not understood"]
        if atom.type == "comment" and (
            "\n" in node_text(atom) or source[max(0, atom.start_byte - 1)] not in " \t\n;&|()#"
        ):
            return ["a comment that was not understood"]
        position, was_word = max(position, atom.end_byte), is_word
    if source[position:end].replace("\\\n", " ").strip(" \t\n"):
        return ["text that was not understood"]
    return []
