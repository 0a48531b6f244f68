"""Texts that the core writes and the window shows: errors, reasons, risks, notices. The core knows no translation.

They are found as they are written, with `{0}` for each value; `ui.translation.core_words` recognises them by that.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import desktop_agent

PACKAGE = Path(desktop_agent.__file__).parent

_MODULES = (
    *("core/policy/engine.py", "core/policy/risks.py", "core/policy/offers.py", "core/approvals"),
    *(
        "core/session",
        "core/context_window",
        "core/store/journal/journal.py",
        "core/store/lock.py",
        "core/store/drafts.py",
    ),
    *("core/store/forking.py", "core/store/blobs.py", "core/store/filing.py", "core/store/removal.py"),
    *("core/undo", "core/capture/safety.py", "core/capture/stat_capture.py", "core/capture/scan.py"),
    *(
        "core/changes/ledger.py",
        "core/changes/folder_moves.py",
        "core/changes/untouched.py",
        "core/merge/file_merge.py",
    ),
    *("core/system/workspace.py", "composition/resumption.py"),
    *("core/providers/http", "core/providers/vendor_provider.py", "core/providers/catalog.py"),
    *("core/providers/auth/keys.py", "core/providers/auth/keyring_calls.py", "core/providers/auth/sign_in/failures.py"),
    *(
        "core/mentions/prompts.py",
        "core/mentions/files.py",
        "core/mentions/symbols.py",
        "core/models/efforts.py",
        "core/slash",
        "app",
    ),
)
"""Where such texts are. What the model reads, what the command line prints and what `doctor` says is not among them."""

_MORE = (
    "In the sandbox: may write nothing, no network",
    "In the sandbox: may write this folder, no network",
    "Not confined: may do whatever your account may",
    "Run this command?",
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
    *("restored {0}", "removed {0}", "merged with later edits: {0}", "already as wanted: {0}", "left alone: {0}"),
    *("restored {0} ({1})", "removed {0} ({1})", "merged with later edits: {0} ({1})", "already as wanted: {0} ({1})"),
    *("left alone: {0} ({1})", "failed: {0} ({1})"),
    *("Auto-compaction: {0}", "Last compaction: {0}", "Active pins: {0}", "Model: {0}", "Folder: {0}", "Session: {0}"),
    *("Mode: approval {0}, sandbox {1}", "State: {0}, {1} turn", "State: {0}, {1} turns", "Requests go to: {0}"),
    *("`/help` lists them.", "Last compaction: none", "Active pins: none", "Auto-compaction: off"),
    *("Tokens: {0} of {1}, as the provider reported it", "Tokens: {0} of {1}, counted by the provider"),
    "Tokens: {0} of {1}, estimated",
    *("State: idle, {0} turn", "State: idle, {0} turns"),
    *("Tokens: not known yet", "Tokens: {0} of {1}", "on, from {0} tokens on", "waiting for you"),
)
"""Texts without the look of a sentence."""

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
            case ast.Call(func=ast.Name(id="_tr")):
                yield from ast.walk(node)  # is found as a text of the window
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
