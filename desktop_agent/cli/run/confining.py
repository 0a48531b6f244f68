"""What `desktop-agent run` says of the sandbox: who reads the log of a run sees no settings and no window."""

import argparse
from collections.abc import Callable

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.slash.declarations import is_command
from desktop_agent.headless import RunOptions


async def say_what_confines(
    args: argparse.Namespace, bench: Workbench, options: RunOptions, say: Callable[[str], None]
) -> str | None:
    """Return the name of the sandbox that commands are confined by; say so where it is not the best one, and why.

    None where nothing confines them: there is no sandbox here, or none is wanted, or no prompt asks for a command.
    """
    mode = args.sandbox or bench.settings.execution.sandbox
    if mode == "none" or (options.prompts and all(is_command(prompt) for prompt in options.prompts)):
        return None
    search = await bench.sandbox_search(options.workspace)
    if search.shortcoming:
        say(f"! {search.shortcoming}")
    return None if search.sandbox is None else search.sandbox.name
