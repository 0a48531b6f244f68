"""Parses command lines into simple commands, at any depth, and checks tree-sitter's tree. Pure."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct, field
from msgspec.structs import replace
from tree_sitter import Language, Node, Parser

from desktop_agent.core.base.regex import regex
from desktop_agent.core.policy.evaluation import (
    Evaluations,
    are_numbers,
    evaluates_words,
    is_number,
    is_of_shell,
    may_be_list,
    names_given,
)
from desktop_agent.core.policy.segments import UNKNOWN_VALUE, ParsedCommand, Redirection, Segment, unwrap
from desktop_agent.core.policy.shell_words import (
    ARITHMETIC,
    DEEPEST,
    EVALUATE,
    GROUPS,
    IN_EXPANSION,
    PASS_DOWN,
    REDIRECTS,
    RESERVED,
    STATEMENTS,
    WORDS,
    Hole,
    NotAWordError,
    Word,
    decode_word,
    holes_of,
    is_plain_body,
    is_posix,
    is_too_deep,
    knows_substitutions,
    node_text,
    split_words,
    unaccounted,
)

LONGEST_BYTES = 32 * 1024
MOST_SIGNS = 300
"""The most brackets, expansions, pipes and redirections. The parser tries several readings, so many cost seconds."""
MOST_BLANKS = 3_000
"""The most characters that end or quote a word."""
MOST_SEGMENTS = 400
DEEPEST_SCRIPTS = 4
LONGEST_SCRIPT_BYTES = 8 * 1024

_DUPLICATED = regex(r"\d+-?|-|[A-Za-z_./][\w./-]*", re.ASCII)
"""What can follow `>&` as its target. The shell splits `>&-x` into two words."""
NOT_POSIX = "syntax of bash, which another shell reads differently"


@lru_cache(maxsize=128)
def parse(command: str, *, is_for_sh: bool = False) -> ParsedCommand:
    """Parse a command line. With `is_for_sh`, bash's own syntax is a problem. Never raises."""
    parsed = _parse(command, 0)
    if is_for_sh and not parsed.is_posix:
        return replace(parsed, problems=(*parsed.problems, NOT_POSIX))
    return parsed


def _parse(command: str, depth: int) -> ParsedCommand:
    try:
        data = command.encode()
    except UnicodeEncodeError:
        return ParsedCommand(command, (), ("half a character",))
    if len(data) > LONGEST_BYTES:
        return ParsedCommand(command, (), (f"it is longer than {LONGEST_BYTES:,} bytes",))
    if sum(data.count(sign) for sign in (b"(", b"<", b">", b"{", b"$", b"`", b"[", b"|", b"&")) > MOST_SIGNS:
        return ParsedCommand(command, (), ("it has too many brackets and expansions",))
    if sum(data.count(sign) for sign in (b" ", b"\t", b"\n", b";", b"'", b'"')) > MOST_BLANKS:
        return ParsedCommand(command, (), ("it has too many words",))
    if re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", data):
        return ParsedCommand(command, (), ("control characters",))
    if re.search(rb"\{.*[\xf0-\xf7]", data, re.DOTALL):
        # WORKAROUND tree-sitter-bash#337: its tables are read beyond their end, which ends the process.
        return ParsedCommand(command, (), ("a brace in front of a rare character",))
    if depth > DEEPEST_SCRIPTS or (depth and len(data) > LONGEST_SCRIPT_BYTES):
        return ParsedCommand(command, (), ("scripts within scripts",))
    walker = _Walker(data, depth)
    try:
        walker.walk()
    except _TooMuchError:
        walker.problems.append("it runs too many commands")
    problems = tuple(dict.fromkeys(walker.problems))
    return ParsedCommand(command, tuple(walker.segments), problems, is_posix=walker.is_posix)


@lru_cache(maxsize=1)
def _parser() -> Parser:
    import tree_sitter_bash  # 10 ms, which only the first command waits for

    return Parser(Language(tree_sitter_bash.language()))


class _TooMuchError(Exception):
    pass


class _Command(Struct):
    words: list[tuple[int, Word]] = field(default_factory=list[tuple[int, Word]])
    redirections: list[Redirection] = field(default_factory=list[Redirection])
    assignments: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


class _Walker:
    """Walks the parser's tree. Offsets are bytes. Text is decoded as latin-1, so that both counts agree."""

    def __init__(self, data: bytes, depth: int) -> None:
        self._data = data
        self._source = data.decode("latin-1")
        self._depth = depth
        self._functions: set[str] = set()
        self._evaluations = Evaluations()
        self._evaluates = False
        self._heredocs = 0
        self.is_posix = True
        self.segments: list[Segment] = []
        self.problems: list[str] = []

    def walk(self) -> None:
        root = _parser().parse(self._data).root_node
        if root.has_error:
            self.problems.append("it is not valid shell")
        if is_too_deep(root):
            self.problems.append("it is nested too deeply")
            return
        self.problems += unaccounted(root, self._source, 0, len(self._data))
        self.is_posix = is_posix(root)
        self._statement(root, (), is_piped=False)
        self._look_back()

    # --- statements ---------------------------------------------------------------------------------------------

    def _statement(  # noqa: C901  # one case per kind of node, each a line or two
        self, node: Node, redirects: Sequence[Node], *, is_piped: bool
    ) -> None:
        match node.type:
            case "redirected_statement":
                self._one_line(node)
                own = [child for child in node.children if child.type in REDIRECTS]
                bodies = [child for child in node.named_children if child.type not in REDIRECTS]
                takes_them = len(bodies) == 1 and bodies[0].type in PASS_DOWN
                for body in bodies:
                    self._statement(body, [*own, *redirects] if takes_them else (), is_piped=is_piped)
                if not takes_them:
                    self._command(node, [*own, *redirects], is_piped=is_piped)
            case "command" | "declaration_command" | "unset_command" | "test_command" | "variable_assignment":
                self._command(node, redirects, is_piped=is_piped)
            case "pipeline":
                for index, child in enumerate(node.named_children):
                    is_last = index == node.named_child_count - 1
                    self._statement(child, redirects if is_last else (), is_piped=is_piped or index > 0)
            case "function_definition":
                name = node.child_by_field_name("name")
                self._functions.add(node_text(name) if name else "")
                for child in node.named_children:
                    if child != name:
                        self._statement(child, (), is_piped=is_piped)
            case "comment" | "variable_name":
                pass
            case "command_substitution" | "process_substitution":
                self._substitution(node)
            case kind if kind in GROUPS:
                self._group(node, redirects, is_piped=is_piped)
            case kind if kind in WORDS:
                self._expansions(node)
            case kind if kind in REDIRECTS:
                self._command(node, [node, *redirects], is_piped=is_piped)
            case kind if kind in ARITHMETIC:
                self._evaluations.doubt()
                self._expansions(node)
            case kind:
                self.problems.append(f"it has a part of an unknown kind ({kind.lower()})")
                self._expansions(node)

    def _group(self, node: Node, redirects: Sequence[Node], *, is_piped: bool) -> None:
        if any(child.type == "((" for child in node.children):
            self._arithmetic(node, redirects)
            return
        if node.type == "subshell" and self._source.startswith("((", node.start_byte):
            self._evaluations.doubt()  # an expression to bash, unless its brackets do not match
        if node.type == "for_statement":
            self._for(node)
        children = [child for child in node.named_children if child.type != "comment"]
        for child in children:
            if node.type == "case_item" and child.type == "word":
                continue
            self._statement(child, redirects if child == children[-1] else (), is_piped=is_piped)

    def _arithmetic(self, node: Node, redirects: Sequence[Node]) -> None:
        opener = next(child for child in node.children if child.type == "((")
        closer = next((child for child in node.children if child.type == "))"), node)
        self._evaluates = True
        note = self._evaluations
        take = note.expressions if node.type == "c_style_for_statement" else note.expression
        take(self._source[opener.end_byte : closer.start_byte], opener.end_byte)
        for child in node.named_children:
            if opener.end_byte <= child.start_byte < closer.start_byte:
                self._expansions(child)
            elif child.type != "comment":
                self._statement(child, redirects, is_piped=False)
        if node.type != "c_style_for_statement":
            for redirect in redirects:
                self._command(redirect, [redirect], is_piped=False)

    def _expression(self, start: int, end: int) -> None:
        self._evaluates = True
        self._evaluations.expression(self._source[start:end], start)

    def _for(self, node: Node) -> None:
        name, *rest = [child for child in node.named_children if child.type != "comment"]
        words = [child for child in rest if child.type in WORDS]
        values = [self._decoded(word.start_byte, word.end_byte, holes_of(word)) for word in words]
        is_numbers = bool(values) and node.children[0].type == "for" and all(map(are_numbers, values))
        self._evaluations.assign(node_text(name), name.end_byte, is_number=is_numbers)
        known = [value.text if value.is_known else UNKNOWN_VALUE for value in values] or [UNKNOWN_VALUE]
        end = (words or [name])[-1].end_byte
        self._emit(
            Segment(
                parts=(),
                assignments=tuple((node_text(name), value) for value in known),
                start=len(self._data[: node.start_byte].decode(errors="replace")),
                end=len(self._data[:end].decode(errors="replace")),
            )
        )

    def _command(self, node: Node, redirects: Sequence[Node], *, is_piped: bool) -> None:
        found = _Command()
        if node.type == "test_command":
            self._test(node, found)
        elif node.type == "variable_assignment":
            self._assignment(node, found)
        elif node.type in ("command", "declaration_command", "unset_command"):
            self._children(node, found)
        for redirect in redirects:
            self._redirect(redirect, found)
        words = tuple(word for _, word in sorted(found.words, key=lambda pair: pair[0]))
        # `ls &> f rm x` is one command to bash. To a plain sh it is `ls &` and `> f rm x`.
        both = [
            child.start_byte for redirect in redirects for child in redirect.children if child.type in ("&>", "&>>")
        ]
        if both and any(place > min(both) for place, _ in found.words):
            self.problems.append("a redirection that shells read differently")
        spans = [node, *redirects] if node.type not in REDIRECTS else [*redirects]
        begin = min(span.start_byte for span in spans)
        end = max(span.end_byte for span in spans)
        bare = Segment(
            parts=words,
            redirections=tuple(found.redirections),
            assignments=tuple(found.assignments),
            start=len(self._data[:begin].decode(errors="replace")),
            end=len(self._data[:end].decode(errors="replace")),
            is_piped=is_piped,
        )
        self._emit(bare)
        if node.type not in REDIRECTS and node.type != "redirected_statement":
            self._expansions(node)
        for redirect in redirects:
            self._expansions(redirect)

    def _one_line(self, node: Node) -> None:
        for before, after in pairwise(node.children):
            if "\n" in self._source[before.end_byte : after.start_byte].replace("\\\n", ""):
                self.problems.append("a command that goes on behind its line")

    def _children(self, node: Node, found: _Command) -> None:
        self._one_line(node)
        for child in node.children:
            match child.type:
                case "command_name":
                    self._word(child.children[0] if child.child_count == 1 else child, found)
                case "variable_assignment" if node.type == "command":
                    self._assignment(child, found)
                case "variable_assignment":
                    self._assignment(child, found)
                    name = node_text(child).partition("=")[0]
                    found.words.append((child.start_byte, Word(f"{name}=…", "simple")))
                case "variable_name":
                    found.words.append((child.start_byte, Word(node_text(child))))
                case kind if kind in REDIRECTS:
                    self._redirect(child, found)
                case kind if kind in WORDS:
                    self._word(child, found)
                case "comment":
                    pass
                case kind if not child.is_named and re.fullmatch(r"[a-z]+", kind):
                    found.words.append((child.start_byte, Word(kind)))  # export, declare, unset
                case kind:
                    self.problems.append(f"it has a part of an unknown kind ({kind.lower()})")

    def _test(self, node: Node, found: _Command) -> None:
        opener = node.children[0].type
        if opener == "((":
            self._expression(node.children[0].end_byte, node.children[-1].start_byte)
            found.words.append((node.start_byte, Word("((", "complex")))
            return
        found.words.append((node.start_byte, Word(opener)))
        start, end = node.children[0].end_byte, node.children[-1].start_byte
        if self._source[start : start + 1] not in (" ", "\t") or self._source[end - 1] not in (" ", "\t"):
            self.problems.append("a test that was not understood")
        try:
            words = split_words(self._source, start, end, holes_of(node))
            placed = [(start + index, _as_text(word)) for index, word in enumerate(words)]
            found.words += placed
            if opener == "[[":
                self._evaluations.test(placed)
        except NotAWordError as error:
            self.problems.append(str(error))
            found.words.append((start, Word(_text_of(self._data, start, end), "complex")))

    def _word(self, node: Node, found: _Command) -> None:
        text = node_text(node)
        names_descriptor = text.isdecimal() or (text.startswith("{") and text.endswith("}"))
        if names_descriptor and self._source[node.end_byte : node.end_byte + 1] in ("<", ">"):
            self.problems.append("a redirection of a descriptor that was not understood")
        found.words.append((node.start_byte, self._decoded(node.start_byte, node.end_byte, holes_of(node))))

    def _decoded(self, start: int, end: int, holes: dict[int, Hole]) -> Word:
        try:
            word = decode_word(self._source, start, end, holes)
        except NotAWordError as error:
            self.problems.append(str(error))
            return Word(_text_of(self._data, start, end), "complex")
        return _as_text(word)

    def _assignment(self, node: Node, found: _Command) -> None:
        raw = node_text(node)
        match = re.match(r"([A-Za-z_]\w*)(?:\[(\w+)\])?\+?=", raw, re.ASCII)
        if match is None:
            self.problems.append("an assignment that was not recognised")
            return
        if match[2] is not None:
            self._expression(node.start_byte + match.start(2), node.start_byte + match.end(2))
        start = node.start_byte + len(match[0])
        value = node.child_by_field_name("value")
        is_literal = is_number(self._source[start : node.end_byte])
        is_literal = is_literal or (value is not None and value.type == "arithmetic_expansion")
        self._evaluations.assign(match[1], node.end_byte, is_number=is_literal and match[2] is None)
        if self._source.startswith("(", start):
            found.assignments.append((match[1], UNKNOWN_VALUE))
            if "[" in raw[len(match[0]) :]:
                self._evaluations.doubt()  # `a=([n]=1)`
        elif start == node.end_byte:
            found.assignments.append((match[1], ""))
        else:
            word = self._decoded(start, node.end_byte, holes_of(node))
            found.assignments.append((match[1], word.text if word.is_known else UNKNOWN_VALUE))
            if word.is_known and _could_run(word.text):
                self.problems.append(f"the value of {match[1]} may be run later")

    def _redirect(self, node: Node, found: _Command) -> None:
        if node.type == "heredoc_redirect":
            self._heredoc(node, found)
            return
        self._one_line(node)
        operator = "".join(child.type for child in node.children if not child.is_named)
        targets = [child for child in node.named_children if child.type in WORDS]
        if operator.endswith("-"):
            targets.insert(0, node)  # `<&-` has no target: the next word belongs to the command
        elif targets:
            word = self._decoded(targets[0].start_byte, targets[0].end_byte, holes_of(targets[0]))
            found.redirections.append(Redirection(operator, word))
            if operator.endswith("&") and not (word.is_known and _DUPLICATED.fullmatch(word.text)):
                self.problems.append("a redirection whose target shells expand twice, or split")
        else:
            self.problems.append("a redirection without a target")
        for extra in targets[1:]:  # the grammar takes the words behind the target for targets, too
            self._word(extra, found)
        for child in node.named_children:
            if child.type == "file_descriptor" and not node_text(child).isdecimal():
                self.problems.append("a redirection that was not understood")  # `-o1<f` is an option, and `<f`
            elif child.type not in WORDS and child.type != "file_descriptor":
                self.problems.append(f"it has a part of an unknown kind ({child.type.lower()})")

    def _heredoc(self, node: Node, found: _Command) -> None:
        """A here document must end where a shell ends it. Its expansions are visited later."""
        self._heredocs += 1
        parts = {child.type: child for child in node.children}
        start, finish, body = parts.get("heredoc_start"), parts.get("heredoc_end"), parts.get("heredoc_body")
        quoted = re.fullmatch(r"'(\w+)'|\"(\w+)\"|(\w+)", node_text(start) if start else "", re.ASCII)
        if self._heredocs > 1 or quoted is None or finish is None or start is None:
            self.problems.append("a here document that was not understood")
            return
        is_indented = "<<-" in parts
        delimiter = quoted[1] or quoted[2] or quoted[3]
        line, line_start = "", self._source.find("\n", start.end_byte) + 1
        body_start = line_start
        while line_start:
            line_end = self._source.find("\n", line_start)
            line = self._source[line_start : line_end if line_end >= 0 else None]
            if (line.lstrip("\t") if is_indented else line) == delimiter:
                break
            line_start = line_end + 1
        if not line_start or finish.end_byte != line_start + len(line):
            self.problems.append("a here document that does not end where it seems to")
            return
        if quoted[3] is not None and not is_plain_body(self._source[body_start:line_start], body_start, body):
            self.problems.append("expansions in a here document")
        for child in node.named_children:
            if child.type in REDIRECTS:
                self._redirect(child, found)
            elif child.type in WORDS:
                self._word(child, found)
            elif not child.type.startswith("heredoc_") and child.type != "file_descriptor":
                self._statement(child, (), is_piped=True)

    # --- what stands inside words -------------------------------------------------------------------------------

    def _expansions(self, node: Node) -> None:
        if node.type in ("command_substitution", "process_substitution"):
            self._substitution(node)
            return
        if node.type == "arithmetic_expansion":
            opener, closer = node.children[0], node.children[-1]
            self._expression(opener.end_byte, closer.start_byte)
        elif node.type == "expansion":
            self._evaluations.expansion(node_text(node), node.start_byte)
            if not knows_substitutions(node_text(node)[2:], node.start_byte + 2, node.children, IN_EXPANSION):
                self._evaluations.doubt()
        elif node.type == "translated_string":
            self.problems.append("a text that is translated, and may be run")
        elif node.type == "ansi_c_string" and "\\'" in node_text(node):
            self.problems.append("a quoted text that shells read differently")
        for child in node.children:
            if child.type not in STATEMENTS:
                self._expansions(child)

    def _substitution(self, node: Node) -> None:
        if self._source.startswith("$((", node.start_byte):
            self._evaluations.doubt()
        if self._source.startswith("`", node.start_byte) and b"\\" in self._data[node.start_byte : node.end_byte]:
            self.problems.append("backslashes inside backticks")
        self.problems += unaccounted(node, self._source, node.start_byte, node.end_byte)
        self._group(node, (), is_piped=False)

    # --- taking further apart -----------------------------------------------------------------------------------

    def _builtin(self, segment: Segment) -> Segment:
        """Return the segment with the variables that the builtin can set as assignments."""
        own = segment.parts[1:]
        is_list = may_be_list(segment.program, own, segment.assignments)
        if given := names_given(segment.program, own):
            segment = replace(segment, assignments=(*segment.assignments, *((name, UNKNOWN_VALUE) for name in given)))
        for name, value in segment.assignments:
            if is_of_shell(name) and not is_number(value):
                self.problems.append(f"a value of {name}, which the shell may run")
        if is_list or evaluates_words(segment.program, own):
            self._evaluations.doubt()
        elif segment.program == "let":
            for word in segment.parts[1:]:
                self._evaluations.expression(word.text if word.is_known else "?$", -1)
        return segment

    def _emit(self, segment: Segment) -> None:
        if len(self.segments) >= MOST_SEGMENTS or len(segment.wrappers) > DEEPEST:
            raise _TooMuchError
        # Behind `time`, these are the shell's own words. A name with `=` is an assignment to some shells' wrappers.
        if segment.program in RESERVED or "=" in segment.program:
            self.problems.append(f"`{segment.words[0]}` where a command was expected")
        segment = self._builtin(segment)
        layers = unwrap(segment.parts)
        if not layers or any(layer.is_beside for layer in layers):
            self.segments.append(segment)
            segment = replace(segment, redirections=())
        name = segment.program.rpartition("/")[2]
        for layer in layers:
            if layer.problem:
                self.problems.append(layer.problem)
            inner = replace(
                segment,
                parts=layer.words,
                assignments=(*segment.assignments, *layer.assignments),
                wrappers=(*segment.wrappers, name),
                outer=(*segment.outer, segment.parts),
            )
            if layer.script is not None:
                self._script(layer.script, inner, is_posix=layer.is_posix)
            elif layer.words:
                self._emit(inner)
            elif not layer.is_beside:
                self.segments.append(segment)

    def _script(self, script: str, around: Segment, *, is_posix: bool) -> None:
        parsed = _parse(script, self._depth + 1)
        if is_posix and not parsed.is_posix:
            self.problems.append(NOT_POSIX)
        self.is_posix = self.is_posix and parsed.is_posix
        self.problems += parsed.problems
        if around.redirections or not parsed.segments:
            self.segments.append(replace(around, parts=()))
        for segment in parsed.segments[:MOST_SEGMENTS]:
            self.segments.append(
                replace(
                    segment,
                    assignments=(*around.assignments, *segment.assignments),
                    wrappers=(*around.wrappers, *segment.wrappers),
                    outer=(*around.outer, *segment.outer),
                    start=around.start,
                    end=around.end,
                    is_piped=around.is_piped or segment.is_piped,
                )
            )

    def _look_back(self) -> None:
        """Find the problems that only the whole line shows: redefined names, and quoted text that is evaluated."""
        names = {segment.program for segment in self.segments}
        names |= {wrapper for segment in self.segments for wrapper in segment.wrappers}
        for name in sorted(self._functions & names):
            self.problems.append(f"`{name}` is redefined in this line")
        self.problems += self._evaluations.problems(frozenset(names))
        if self._evaluates or names & EVALUATE:
            texts = [part.text for segment in self.segments for part in segment.parts if part.is_known]
            if any(_could_run(text) for text in texts):
                self.problems.append("quoted text that may be run")


def _could_run(text: str) -> bool:
    return "$(" in text or "`" in text


def _text_of(data: bytes, start: int, end: int) -> str:
    return data[start:end].decode(errors="replace")


def _as_text(word: Word) -> Word:
    return Word(word.text.encode("latin-1").decode(errors="replace"), word.kind)
