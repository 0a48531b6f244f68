"""The parts of a command line as tree-sitter names them, and whether its tree covers the whole line.

The grammar forgives what a shell would not. `unaccounted` compares the tree with the text, byte by byte.
"""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from desktop_agent.core.policy.shell_words import Hole

if TYPE_CHECKING:
    from tree_sitter import Node

DEEPEST = 80
"""Nodes within nodes; what is deeper is not gone through."""

WORDS = frozenset(
    {
        "word", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation", "number",
        "simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion",
        "brace_expression", "extglob_pattern", "regex",
    }
)  # fmt: skip
HOLES = frozenset(
    {
        "simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion",
        "ansi_c_string", "translated_string", "brace_expression", "extglob_pattern",
    }
)  # fmt: skip
GROUPS = frozenset(
    {
        "program", "list", "subshell", "compound_statement", "negated_command", "if_statement", "elif_clause",
        "else_clause", "while_statement", "for_statement", "c_style_for_statement", "case_statement", "case_item",
        "do_group", "variable_assignments", "command_substitution", "process_substitution",
    }
)  # fmt: skip
PASS_DOWN = frozenset(
    {
        "command", "declaration_command", "unset_command", "test_command", "list", "pipeline", "negated_command",
        "variable_assignment", "redirected_statement",
    }
)  # fmt: skip
"""What a redirection around it belongs to the last command of, and to no more."""
REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
ARITHMETIC = frozenset(
    {
        "binary_expression", "unary_expression", "postfix_expression", "ternary_expression", "parenthesized_expression",
    }
)  # fmt: skip
ATOMS = WORDS | {"comment", "heredoc_body", "heredoc_end", "heredoc_start", "variable_assignment", "test_command"}
RESERVED = frozenset(
    {
        "then", "else", "elif", "fi", "do", "done", "case", "esac", "in", "function", "select", "until", "while", "if",
        "for", "{", "}", "end", "always", "]]", "!",
    }
)  # fmt: skip
EVALUATE = frozenset(
    {
        "[[", "[", "test", "let", "declare", "typeset", "local", "export", "readonly", "printf", "unset", "read",
        "mapfile", "readarray", "wait", "getopts",
    }
)  # fmt: skip
"""Builtins that may evaluate an index such as `a[$(rm x)]` in a quoted word."""


STATEMENTS = GROUPS - {"command_substitution", "process_substitution"} | {
    "command", "declaration_command", "unset_command", "test_command", "redirected_statement", "pipeline",
    "function_definition",
}  # fmt: skip


def _atoms(node: "Node") -> Iterator["Node"]:
    """Yield the parts of a statement that count as a whole: words, comments, operators."""
    for child in node.children:
        if child.type in ATOMS or (child.child_count == 0):
            yield child
        else:
            yield from _atoms(child)


def _may_touch(atom: "Node", source: str) -> bool:
    """Whether a shell, too, ends the word before `atom` though no blank stands between them."""
    before = source[atom.start_byte - 1]
    return before in "\n;" or (atom.type in ("heredoc_body", "heredoc_end", "{", "!") and before == "\n")


def holes_of(node: "Node") -> dict[int, Hole]:
    """Return the outermost expansions of a word by where they start."""
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


def is_plain_body(text: str, start: int, body: "Node | None") -> bool:
    """Whether every substitution in an unquoted here document is one that the tree knows."""
    return knows_substitutions(text, start, [body] if body else [], _IN_DOCUMENT) and not re.search(r"\\[\\\n]", text)


_IN_DOCUMENT = re.compile(r"(?<!\\)(\$\(|`|\$\{|\$\[)")
IN_EXPANSION = re.compile(r"(?<!\\)(\$\(|`|\$\{|\$\[|[<>]\()")
"""Where a substitution may begin."""


def knows_substitutions(text: str, start: int, nodes: "Iterable[Node]", begins: re.Pattern[str]) -> bool:
    """Whether the expansions among `nodes` cover all places in `text`, which begins at `start`, that may begin one."""
    covered = [range(place, hole.end) for node in nodes for place, hole in holes_of(node).items()]
    return all(any(start + match.start() in span for span in covered) for match in begins.finditer(text))


def is_too_deep(root: "Node") -> bool:
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
        # What stands between them.
        "&&", "||", "|", "&", ";", ";;", "(", ")", "{", "}", "\n", "<", ">", ">>", ">&", "<&", ">|", "<<", "<<-", "=",
        "!=",
        "!", "[", "]", "$", "${", "$(", "`", '"', "#", "-", ":-", "+", ":+",
        "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for", "in", "case", "esac",
    }
)  # fmt: skip
"""Nodes, and the tokens between them, that every POSIX shell reads as bash does."""


def is_posix(root: "Node") -> bool:
    """Whether a line has only syntax that every POSIX shell reads as bash does."""
    pending = [root]
    while pending:
        node = pending.pop()
        is_plain_pattern = node.type == "extglob_pattern" and "(" not in node_text(node)  # `a|b)` of a `case`
        if node.type not in _POSIX and not is_plain_pattern:
            return False
        pending += node.children
    return True


def node_text(node: "Node") -> str:
    return (node.text or b"").decode("latin-1")


def unaccounted(node: "Node", source: str, start: int, end: int) -> list[str]:
    """Return what the tree of `node` does not have of what a shell would see between `start` and `end`."""
    atoms = sorted((a for a in _atoms(node) if a.end_byte > a.start_byte), key=lambda a: a.start_byte)
    position, was_word = start, False
    for atom in atoms:
        gap = source[position : atom.start_byte] if atom.start_byte >= position else "?"
        blank = gap.replace("\\\n", "")
        is_word = atom.type in ATOMS or re.fullmatch(r"[\w{}!]+|\[+", atom.type) is not None
        runs_together = was_word and is_word and not blank
        if blank.strip(" \t\n") or (gap and not blank) or (runs_together and not _may_touch(atom, source)):
            return ["text that was not understood"]
        if atom.type == "comment" and (
            "\n" in node_text(atom) or source[max(0, atom.start_byte - 1)] not in " \t\n;&|()#"
        ):
            return ["a comment that was not understood"]
        position, was_word = max(position, atom.end_byte), is_word
    if source[position:end].replace("\\\n", " ").strip(" \t\n"):
        return ["text that was not understood"]
    return []
