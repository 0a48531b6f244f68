"""Collects what the window and the core say to users, by reading the source: the messages of the translations.

Which calls count is in ADR 23.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import desktop_agent
from desktop_agent.core.mcp.server_status import STATE_WORDS
from desktop_agent.core.models.vendors import PROVIDER_LABELS, VENDORS
from desktop_agent.core.settings.values import declared_section, declared_settings

PLURAL = "plural"
"""The function of `desktop_agent.ui.translation`, with context, number, one and many."""


@dataclass(frozen=True, slots=True, order=True)
class Message:
    """One text to be translated: the context in which Qt looks it up, and the English source."""

    context: str
    source: str
    is_plural: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What one module has: its messages, and where it translates something that is not written there."""

    messages: tuple[Message, ...]
    unknown: tuple[str, ...]
    """As source code, such as `words(setting.about.title)`."""


@dataclass(frozen=True, slots=True)
class Translating:
    """A function that translates one of its arguments."""

    context: str
    position: int
    is_plural: bool = False


def translating_functions(tree: ast.Module) -> Mapping[str, Translating]:
    """Return the functions of a module that only translate one of their arguments."""
    found: dict[str, Translating] = {}
    for function in tree.body:
        match function:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Name(id="partial"), args=[ast.Attribute(attr="translate"), context]),
            ):
                found[name] = Translating(_literal(context), 0)
            case _:
                pass
        if not isinstance(function, ast.FunctionDef):
            continue
        names = [argument.arg for argument in function.args.args]
        for call in _calls(function):
            is_plural = _name(call.func) == PLURAL
            if not is_plural and not _is_translate(call):
                continue
            text = call.args[3 if is_plural else 1]
            if isinstance(text, ast.Name) and text.id in names and isinstance(call.args[0], ast.Constant):
                found[function.name] = Translating(_literal(call.args[0]), names.index(text.id), is_plural)
    return found


class ModuleTexts:
    """One module, and the translating functions of the package, by dotted name."""

    def __init__(self, tree: ast.Module, functions: Mapping[str, Translating], own: Mapping[str, Translating]) -> None:
        self._tree = tree
        self._named = dict(own)
        """Functions by the name they have here."""
        self._modules: dict[str, str] = {}
        """Imported modules that have such functions, by the name they have here."""
        self._functions = functions
        self._assigned: dict[str, list[ast.expr]] = {}
        for name, value in _assigned(tree):
            self._assigned.setdefault(name, []).append(value)
        for imported in tree.body:
            if isinstance(imported, ast.ImportFrom):
                self._import(imported)
        self._messages: list[Message] = []
        self._unknown: list[str] = []

    def find(self) -> Found:
        """Return what the module has."""
        self._visit(self._tree, "", frozenset())
        return Found(tuple(dict.fromkeys(self._messages)), tuple(self._unknown))

    def _import(self, imported: ast.ImportFrom) -> None:
        for alias in imported.names:
            name = alias.asname or alias.name
            full = f"{imported.module}.{alias.name}"
            if full in self._functions:
                self._named[name] = self._functions[full]
            elif any(function.startswith(f"{full}.") for function in self._functions):
                self._modules[name] = full

    def _visit(self, node: ast.AST, context: str, parameters: frozenset[str]) -> None:
        if isinstance(node, ast.ClassDef):
            context = node.name
        if isinstance(node, ast.FunctionDef):
            parameters = frozenset(argument.arg for argument in node.args.args)
        if isinstance(node, ast.Call):
            self._take(node, context, parameters)
        for child in ast.iter_child_nodes(node):
            self._visit(child, context, parameters)

    def _take(self, call: ast.Call, context: str, parameters: frozenset[str]) -> None:
        """Keep the messages of a call, if it is one that translates."""
        name, arguments = _name(call.func), call.args
        if name == PLURAL or name == "QT_TRANSLATE_NOOP" or _is_translate(call):
            text = arguments[3 if name == PLURAL else 1]
            if isinstance(text, ast.Name) and text.id in parameters:
                return  # the body of a translating function
            self._keep(call, Translating(_literal(arguments[0]), 0, name == PLURAL), text)
        elif name == "self.tr":
            self._keep(call, Translating(context, 0), arguments[0])
        elif name.endswith(".tr"):
            self._unknown.append(ast.unparse(call))  # the class that Qt looks it up in is not known
        elif (known := self._function(name)) is not None and len(arguments) > known.position:
            self._keep(call, known, arguments[known.position])

    def _function(self, name: str) -> Translating | None:
        module, _, function = name.rpartition(".")
        if module:
            return self._functions.get(f"{self._modules.get(module)}.{function}")
        return self._named.get(name)

    def _keep(self, call: ast.Call, function: Translating, text: ast.expr) -> None:
        sources = list(self._texts(text))
        if None in sources:
            self._unknown.append(ast.unparse(call))
        self._messages += [Message(function.context, source, function.is_plural) for source in sources if source]

    def _texts(self, text: ast.expr) -> Iterator[str | None]:
        """Yield what a text can be; None where that is not written in the module."""
        match text:
            case ast.Constant(value=str(value)):
                yield value
            case ast.IfExp(body=body, orelse=other):
                yield from self._texts(body)
                yield from self._texts(other)
            case ast.Name(id=name):
                yield from self._name(name)
            case ast.BoolOp(values=values):
                for value in values:
                    yield from self._texts(value)
            case ast.Call(func=ast.Name(id="str"), args=[value]):
                yield from self._texts(value)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=table), attr="get"), args=[_, *default]):
                yield from self._table(table)
                for value in default:
                    yield from self._texts(value)
            case ast.Subscript(value=ast.Name(id=table)):
                yield from self._table(table)
            case _:
                yield None

    def _table(self, name: str) -> Iterator[str | None]:
        """Yield all texts in what is assigned to a name, wherever in the module."""
        if name not in self._assigned:
            yield None
        for value in self._assigned.get(name, ()):
            yield from _values(value)

    def _name(self, name: str) -> Iterator[str | None]:
        """Yield all texts that are assigned to a name, wherever in the module."""
        if name not in self._assigned:
            yield None
        for value in self._assigned.get(name, ()):
            yield from self._texts(value)


def declared(tree: ast.Module, table: str, position: int) -> Iterator[str]:
    """Yield the text at a place among the arguments of each call in the constant `table`."""
    for call in _calls(dict(_assigned(tree))[table]):
        if len(call.args) > position:
            yield _literal(call.args[position])


def texts_in(tree: ast.Module, table: str) -> Iterator[str]:
    """Yield all texts in the values of the constant `table`."""
    yield from _values(dict(_assigned(tree))[table])


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for statement in ast.walk(tree):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                for target, value in zip(targets, values, strict=False):
                    if isinstance(target, ast.Name):
                        yield target.id, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case _:
                pass


def _values(value: ast.expr) -> Iterator[str]:
    """Yield the texts in a table: the values of a dictionary, the items of a tuple."""
    match value:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Dict(values=values) | ast.Tuple(elts=values) | ast.List(elts=values):
            for each in values:
                yield from _values(each)
        case _:
            return


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (each for each in ast.walk(node) if isinstance(each, ast.Call))


def _is_translate(call: ast.Call) -> bool:
    return _name(call.func) == "QCoreApplication.translate"


def _name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return f"{owner}.{name}"
        case ast.Attribute(attr=name):
            return f"….{name}"  # of something that has no name of its own
        case _:
            return ""


def _literal(expression: ast.expr) -> str:
    value: object = ast.literal_eval(expression)
    assert isinstance(value, str), ast.unparse(expression)
    return value


def sorted_messages(messages: Iterable[Message]) -> list[Message]:
    """Return each once, in the order in which Qt's tools write them."""
    return sorted(set(messages))


PACKAGE = Path(desktop_agent.__file__).parent

_MODULES = (
    *("core/policy/engine.py", "core/policy/risks.py", "core/policy/offers.py", "core/approvals.py"),
    *(
        "core/session",
        "core/context_window",
        "core/store/journal/journal.py",
        "core/store/session_folder.py",
        "core/store/drafts.py",
    ),
    *(
        "core/store/session_upkeep.py",
        "core/store/blobs.py",
    ),
    *("core/undo", "core/capture/safety.py", "core/capture/capture.py", "core/capture/scan.py"),
    *(
        "core/changes/ledger.py",
        "core/changes/folder_moves.py",
        "core/changes/workspace_files.py",
        "core/merge.py",
    ),
    *(
        "core/system/workspace.py",
        "core/system/git/branches.py",
        "core/system/git/git_process.py",
        "composition/session_opener.py",
    ),
    *("core/commits", "core/worktrees"),
    *("core/providers/provider.py", "core/providers/http_provider.py", "core/providers/http_connection.py"),
    *("core/providers/wire_format.py", "core/providers/sdk_connection.py", "core/providers/sdk_worker.py"),
    *("core/providers/faults.py", "core/providers/auth/credential.py"),
    *("core/providers/provider_catalog.py", "core/providers/auth/keys.py"),
    *("core/providers/auth/browser_sign_in.py", "core/providers/auth/sign_ins.py"),
    *(
        "core/transcript/transcript.py",
        "core/agents/definition.py",
        "core/agents/connection.py",
        "core/agents/offers.py",
        "composition/agent_trials.py",
        "core/mcp/client.py",
        "core/mcp/confining.py",
        "core/mcp/connection.py",
        "core/mcp/definition.py",
        "core/mcp/new_servers.py",
        "core/mcp/trust.py",
        "core/mcp/sdk/http_transport.py",
        "core/mcp/sdk/oauth.py",
        "core/mcp/sdk/sdk_client.py",
        "core/mcp/sdk/sdk_results.py",
        "core/agents/new_agents.py",
        "core/diagnostics/lsp_connection.py",
        "core/extensions/plugin_store.py",
        "core/models/vendors.py",
        "core/settings/settings_file.py",
        "core/settings/table_file.py",
        "core/settings/workspace_settings.py",
        "core/system/network",
        "core/system/processes/line_process.py",
        "core/tools/execution/safeguard.py",
        "core/mentions/prompts.py",
        "core/mentions/files.py",
        "core/models/known_model.py",
        "core/slash",
        "app",
    ),
)
"""Where such texts are. What the model reads, what the command line prints and what `doctor` says is not among them."""

_REASONED = (
    *("core/base/web_address.py", "core/models/account.py"),
    *("core/agents/definition.py", "core/mcp/definition.py", "core/mcp/definition_file.py", "core/mcp/new_servers.py"),
    "core/extensions/skills.py",
    *("core/policy/segments.py", "core/policy/shell.py", "core/policy/shell_words.py"),
)
"""Where reasons are that end a sentence of the window, such as “This address cannot be used: …”."""

_MORE = (
    "In the sandbox: may write nothing, no network",
    "In the sandbox: may write this folder, no network",
    "Not sandboxed: has all the rights of your account",
    "Run this command?",
    "Your answer",
    *("{0} Or give it a key. {1}", "Perhaps it is not signed in. {0}"),
    "Run this command outside the sandbox?",
    "Change {0}?",
    "Change {0} files?",
    "Change the mode of {0}?",
    "Create {0}?",
    "Delete {0}?",
    "Rename {0}?",
    "Rename and change {0}?",
    "Read {0}?",
    "Search the web for “{0}”?",
    "Let {0} run {1}?",
    "Start {0} as a sub-agent?",
    "It is another program: it works with its own rights, outside the sandbox, in a git worktree of its own.",
    "sandbox",
    "Allow once",
    "Allow {0} in this session",
    "Allow {0} in this folder",
    "Always allow {0}",
    "Allow {0} as it is now",
    "edits",
    "exactly this command",
    *("Undone: {0} file.", "Undone: {0} files.", "Applied again: {0} file.", "Applied again: {0} files."),
    *("{0} file changed by the agent.", "{0} files changed by the agent."),
    *("restored {0}", "removed {0}", "merged with later edits: {0}", "no change needed: {0}", "left alone: {0}"),
    *("restored {0} ({1})", "removed {0} ({1})", "merged with later edits: {0} ({1})", "no change needed: {0} ({1})"),
    *("left alone: {0} ({1})", "failed: {0} ({1})"),
    *("Auto-compaction: {0}", "Last compaction: {0}", "Active pins: {0}", "Model: {0}", "Folder: {0}", "Session: {0}"),
    *("Mode: approval {0}, sandbox {1}", "State: {0}, {1} turn", "State: {0}, {1} turns", "Requests go to: {0}"),
    *("`/help` lists them.", "Last compaction: none", "Active pins: none", "Auto-compaction: off"),
    *("Tokens: {0} of {1}, as the provider reported it", "Tokens: {0} of {1}, counted by the provider"),
    "Tokens: {0} of {1}, estimated",
    *("State: idle, {0} turn", "State: idle, {0} turns"),
    *("Tokens: not known yet", "Tokens: {0} of {1}", "on, above {0} tokens", "waiting for you"),
    "The session could not be read.",
    *("an API key", "AWS access key …{0} ({1}), region {2}", "your Google sign-in", "your Entra sign-in"),
    "{0}, project {1}, region {2}",
    "Set what is missing in the account or in the environment. {0}",
    *(
        "it writes {0} and reaches {1}",
        "it writes {0}, also reads {1} and reaches {2}",
        "none of your files",
        "no network",
    ),
    *("all skills are switched off", "all hooks are switched off", "hooks of other programs are switched off"),
    *("its plugin waits for your answer", "its plugin is not used"),
    *("you ignore what this project brings", "it is empty", "its front matter has no description"),
    *("its name is not that of its folder", "its name has characters other than letters, digits, - and _"),
    "another skill has this name, in {0}",
    *("images", "embedded files", "resuming sessions", "MCP servers over HTTP"),
    *("The MCP server {0} could not be started: {1}", "The MCP server {0} failed a moment ago: {1}"),
    "It asks for the conversation as well, and does not get it.",
    "It wants up to {0} tokens of answer, and gets {1}.",
    "It prefers a certain kind of model, which is ignored.",
    "It sets a temperature or stop sequences, which are ignored.",
    *("It took longer than {0} s, and was ended.", "It printed more than {0} MiB, and was ended."),
    *("It ended with code {0}.", "There is no shell to run it with.", "It could not be started: {0}"),
    "It, or a script of it, changed since you trusted it, so it did not run.",
    *("Its answer is not valid JSON.", "Its answer cannot be used: {0}."),
    *("without a model", "with one model", "with {0} models", "Something else"),
    *("{0} runs on {1}, {2}.", "settings file", "file of the accounts", "file of the models", "file of the rules"),
    *("accounts", "models", "rules", "server", "a server", "agent", "an agent"),
    *("The MCP server {0} broke off: {1}", "It could not be confined, so it was not started: {0}"),
    "It failed unexpectedly: {0}",
    *("the files of this folder", "branches, tags and stash entries"),
    "the files of this folder, branches, tags and stash entries",
    *("the open folder", "every public host", "uv, for uvx.", "git, and uv, for uvx."),
    "uv, for uvx, and credentials of AWS: a profile in ~/.aws.",
    *("name: {0}", "name {0}: {1}", "address: {0}", "header {0}: {1}", "for example https://models.example/v1"),
    *("`{0}` is not the system's `{1}`", "a program for {0}", "code for {0}", "code for {0} from its input"),
    *("syntax of bash, which another shell reads differently", "a name that is evaluated, and whose value may be run"),
    *("text that was not understood", "a comment that was not understood"),
    *("SVG image", "binary data", "empty file"),
    "No closing quotation",  # Python's own, of a command line
    *("encoding {0}", "encoding {0} → {1}", "byte order mark added", "byte order mark removed"),
    "not all of it is UTF-8: other bytes are shown as numbers",
    *("line endings changed ({0} → {1})", "only line endings changed ({0} → {1})"),
    *("no newline at the end of the file", "newline added at the end of the file"),
    "too different to compare line by line: everything from the first to the last difference is shown as changed",
    "too large to compare line by line ({0} MB, {1} lines)",
    *("symbolic link", "named pipe", "executable (mode {0})", "mode {0} → {1}"),
)
"""Texts without the look of a sentence, or of a module whose others are for the command line."""

_SENTENCE = re.compile(r"[A-Z`{].*[.?:)]", re.DOTALL)
_UNSEEN_CALLS = {"info", "warning", "error", "debug", "exception", "compile", "tr", "translate", "sub", "match"}
_LEAST_LETTERS = 8
_NOT_HERE = re.compile(r"Open the window\. Commands|Find code that|Run the tests and|What does this project")
"""Help of the command line, and examples of prompts."""


@cache
def core_texts() -> list[str]:
    """Return all of them, each once, in a fixed order."""
    from desktop_agent.core.slash.declarations import BUILT_IN

    found = {text for module in _MODULES for text in _texts_below(module)}
    found |= {text for file in sorted((PACKAGE / "core").rglob("*.py")) for text in _storage_errors_in(file)}
    file_types = ast.parse((PACKAGE / "core/base/file_types.py").read_bytes())
    found |= {name for name in texts_in(file_types, "_SIGNATURES") if " " in name}
    found |= {text for module in _REASONED for text in _reasons_in(module)}
    found |= {vendor.cloud.sign_in for vendor in VENDORS if vendor.cloud is not None}
    return sorted(found | set(_MORE) | {command.summary for command in BUILT_IN})


def core_patterns() -> str:
    """Return those with values in them, a line each."""
    return "".join(text.replace("\n", "\\n") + "\n" for text in core_texts() if "{0}" in text)


def _texts_below(module: str) -> Iterator[str]:
    path = PACKAGE / module
    for file in [path] if path.suffix else sorted(path.rglob("*.py")):
        tree = ast.parse(file.read_bytes())
        unseen = {id(node) for node in _unseen(tree)}
        for node in ast.walk(tree):
            text = "" if id(node) in unseen else _template(node)
            letters = re.sub(r"\{\d\}|\W", "", text)
            if (
                " " in text.strip()
                and _SENTENCE.fullmatch(text)
                and not _NOT_HERE.match(text)
                and len(letters) >= _LEAST_LETTERS
            ):
                yield text


def _storage_errors_in(file: Path) -> Iterator[str]:
    """Yield the titles and hints of `storage_error`, which any front end may show."""
    source = file.read_text(encoding="utf-8")
    for call in _calls(ast.parse(source)) if "storage_error(" in source else ():
        if _name(call.func) == "storage_error":
            texts = [*call.args[:1], *(each.value for each in call.keywords if each.arg == "hint")]
            yield from filter(None, map(_template, texts))


def _reasons_in(module: str) -> Iterator[str]:
    for node in ast.walk(ast.parse((PACKAGE / module).read_bytes())):
        match node:
            case (
                ast.Raise(exc=ast.Call(func=ast.Name(id="ValueError" | "NotAWordError"), args=[text]))
                | ast.keyword(arg="problem", value=text)
                | ast.Call(func=ast.Attribute(value=ast.Attribute(attr="problems"), attr="append"), args=[text])
            ):
                reasons = [_template(text)]
            case ast.FunctionDef(name=name) if name.startswith(("why_", "_why_")) or name.endswith("_problem"):
                reasons = [
                    _template(each.value) for each in ast.walk(node) if isinstance(each, ast.Return) and each.value
                ]
            case _:
                reasons = []
        yield from (text for text in reasons if len(re.sub(r"\{\d\}|\W", "", text)) >= _LEAST_LETTERS)


def _unseen(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what no user reads: docstrings, logs, patterns, assertions; and parts of texts that are put together."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant() as text):
                yield text
            case ast.JoinedStr(values=parts):
                yield from parts
            case ast.Call(func=ast.Attribute(attr=name)) if name in _UNSEEN_CALLS:
                yield from ast.walk(node)
            case ast.Call(func=ast.Name(id="_tr" | "RedirectPage")):
                yield from ast.walk(node)  # is found as a text of the window, or is a page of the browser
            case ast.Assert(msg=ast.AST() as text):
                yield from ast.walk(text)
            case _:
                pass


def _template(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text.replace("{}", "{0}")
        case ast.JoinedStr(values=parts):
            places = iter(range(len(parts)))
            return "".join(
                str(part.value) if isinstance(part, ast.Constant) else f"{{{next(places)}}}" for part in parts
            )
        case _:
            return ""


_ASKS_QT = re.compile(r"QCoreApplication\.translate\(|\bplural\(")

_MODES = ("_POLICIES", "_MODES")
"""The tables of `ui/wording.py`, whose values are asked for by place."""


@cache
def modules() -> dict[str, ast.Module]:
    """Return the modules of the window that translate something, by their paths below the package."""
    files = (file for part in ("ui", "app") for file in sorted((PACKAGE / part).rglob("*.py")))
    sources = {file.relative_to(PACKAGE).as_posix(): file.read_text(encoding="utf-8") for file in files}
    trees = {path: ast.parse(source) for path, source in sources.items() if _ASKS_QT.search(source)}
    functions = {name for tree in trees.values() for name in translating_functions(tree)}
    calls = re.compile(rf"\b(?:{'|'.join(functions)})\(|\.tr\(|TRANSLATE_NOOP")  # what else there is, is not parsed
    others = {path: ast.parse(source) for path, source in sources.items() if path not in trees and calls.search(source)}
    return trees | others


@cache
def found() -> dict[str, Found]:
    """Return what was found in each module."""
    own = {path: translating_functions(tree) for path, tree in modules().items()}
    functions = {
        f"desktop_agent.{path.removesuffix('.py').replace('/', '.')}.{name}": context
        for path, names in own.items()
        for name, context in names.items()
    }
    return {path: ModuleTexts(tree, functions, own[path]).find() for path, tree in modules().items()}


def window_texts() -> Iterator[Message]:
    """Yield every text that can be shown in the user's language; some more than once."""
    for each in found().values():
        yield from each.messages
    for text in declared(modules()["ui/part_keys.py"], "PLACE_KEYS", 2):
        yield Message("Palette", text)
    for table in _MODES:
        for text in texts_in(modules()["ui/wording.py"], table):
            yield Message("Modes", text)
    for text in STATE_WORDS.values():
        yield Message("ServerWords", text)
    for text in core_texts():
        yield Message("Core", text)
    for text in _settings():
        yield Message("Settings", text)


def _settings() -> Iterator[str]:
    for setting in declared_settings().values():
        about, section = setting.about, declared_section(setting.section)
        title = about.title if about.holds != "keys" else ""  # an action, which is translated as that
        texts = (title, about.text, about.unit, about.unset, section.title, section.text)
        yield from filter(None, texts)
        yield from about.words.values()
        yield from (choice for choice in setting.choices if choice not in about.words)
    yield from PROVIDER_LABELS.values()
