"""`desktop-agent hooks`: shows the hooks of a folder and which of them run, and trusts a project's. Starts none."""

import argparse
import os

from desktop_agent.cli.console import Console, table
from desktop_agent.cli.extensions import extensions_in
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.base.plain_text import named, number_of, shortened
from desktop_agent.core.extensions.hook_runs import HookBook, StandingHook
from desktop_agent.core.extensions.hooks import item_of
from desktop_agent.core.protocol.codec import picked
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.system.workspace import current_folder
from desktop_agent.core.tools.secret_files import finder_of_secrets

_LONGEST = 80


def list_hooks(args: argparse.Namespace, console: Console) -> None:
    hooks, problems = _book(args).read()
    rows = [
        (_state(one), one.hook.name, shortened(named(one.hook.line), _LONGEST), named(str(one.hook.path)))
        for one in hooks
    ]
    lines = [table(rows)] if rows else ["No hook is defined."]
    if problems:
        lines += ["", "Not used, because of what is wrong with it:", *(named(str(problem)) for problem in problems)]
    if any(one.standing == "waiting" and one.hook.plugin is not None for one in hooks):
        lines += ["", "Those of a plugin wait until you allow it: `desktop-agent plugins list` says how."]
    if any(one.standing == "waiting" and one.hook.plugin is None for one in hooks):
        lines += ["", "Those that wait run once you trust them: `desktop-agent hooks trust`."]
    if any(one.standing == "off" and one.hook.scope == "home" for one in hooks):
        lines += ["", "Those of other programs run with `desktop-agent config set hooks.from_home true`."]
    document: JsonObject = {"hooks": list(map(_document, hooks)), "problems": list(map(str, problems))}
    console.result(document, "\n".join(lines))


def trust(args: argparse.Namespace, console: Console) -> None:
    book = _book(args)
    waiting = [one for one in book.read()[0] if one.standing == "waiting" and one.hook.scope == "project"]
    if not waiting:
        raise UsageError("No hook of this project waits for your answer.", hint="`hooks list` shows them all.")
    items = [item_of(one.hook, book.root) for one in waiting]
    if not args.dry_run:
        book.workspace.remember_items("ignored" if args.ignore else "trusted", items)
    verb = "would run" if args.dry_run else "will not run" if args.ignore else "will run"
    lines = [f"{number_of(len(items), 'hook')} of this project {verb}, as you do, outside the sandbox:"]
    lines += [
        f"  {item.name}: {item.detail} (sha256 {item.digest}{_changed(one)}), from {named(str(item.path))}"
        for one, item in zip(waiting, items, strict=True)
    ]
    console.result({"hooks": list(map(_document, waiting)), "answer": verb}, "\n".join(lines))


def _book(args: argparse.Namespace) -> HookBook:
    root = real_path(args.workspace or current_folder())
    found = extensions_in(AppPaths.from_environment(), root)
    secrets = finder_of_secrets(root, os.environ)
    return HookBook(
        workspace=found.settings,
        plugins=found.plugins,
        environ=os.environ,
        secret_at=lambda path, status: secrets().secret_at(path, status),
    )


def _state(one: StandingHook) -> str:
    return f"{one.standing}{_changed(one)}"


def _changed(one: StandingHook) -> str:
    return ", changed since your last answer" if one.trust == "changed" else ""


def _document(one: StandingHook) -> JsonObject:
    hook = one.hook
    return {
        "state": one.standing,
        **picked(one, "trust", "reason"),
        **picked(hook, "event", "matcher", "command", "args", "scope", "dialect", "timeout_s", "is_async"),
        "if": hook.condition,
        "path": str(hook.path),
        "digest": one.digest,
    }
