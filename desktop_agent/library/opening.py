"""How an agent finds what it works with: folders, settings, tools, the model."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.models.vendors import DEMO, PROVIDER_IDS
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.settings import Settings
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.system.private_files import close_to_others
from desktop_agent.core.tools.builtin import builtin_tools
from desktop_agent.core.tools.function_tool import Function, tool
from desktop_agent.core.tools.registry import ToolRegistry
from desktop_agent.core.tools.tool import AnyTool, Tool


def workbench_of(
    home: Path | str | None, settings: Settings | None, provider: Provider | None, tools: Sequence[AnyTool | Function]
) -> Workbench:
    """Return the workbench of an agent. Raises `UsageError` for two tools of one name."""
    environ = os.environ if home is None else {**os.environ, "DESKTOP_AGENT_HOME": str(Path(home).expanduser())}
    paths = AppPaths.from_environment(environ)
    live = LiveSettings(settings) if settings is not None else LiveSettings.load(paths.settings_file(environ), environ)
    own = [cast("AnyTool", one) if isinstance(one, Tool) else tool(one) for one in tools]
    built_in = builtin_tools(paths.cache, longest_command_s=lambda: live.current.execution.timeout_seconds)
    try:
        every = tuple(ToolRegistry((*built_in, *own)))
    except ValueError as error:
        raise UsageError(f"The tools cannot be used: {error}.", hint="Give each its own name.") from error

    async def only_this(_model: ModelRef) -> Provider:
        assert provider is not None
        return provider

    close_to_others(paths.roots)
    source = only_this if provider is not None else None
    return Workbench(paths, live, environ=environ, provider_source=source, tools=every)


def absolute_path(path: Path | str) -> str:
    """Return where a path of the program leads, from the current folder; `~` is the home."""
    return str(Path(path).expanduser().absolute())


def model_meant(model: ModelRef | str | None, bench: Workbench, *, has_provider: bool) -> ModelRef | None:
    """Return the model that is meant; None is the one of the settings or of the session."""
    if not isinstance(model, str):
        return model or (ModelRef(provider="own", model="own") if has_provider else None)
    if model == DEMO:
        return bench.model_meant(NamedModel(provider=DEMO))
    provider, slash, name = model.partition("/")
    if slash and provider in PROVIDER_IDS:
        return bench.model_meant(NamedModel(provider=provider, model=name))
    return bench.model_meant(NamedModel(model=model))
