"""Importing an SDK leaves the garbage collector as it was, and costs nothing until a provider needs it."""

import asyncio
import gc
import sys

import pytest

from desktop_agent.core.providers.sdk_import import import_sdk


async def _printed_by(program: str) -> str:
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
    output, _ = await child.communicate()
    assert child.returncode == 0
    return output.decode().strip()


async def test_importing_the_provider_imports_no_sdk() -> None:
    program = """
import sys
import desktop_agent.core.providers.anthropic, desktop_agent.core.providers.auth.keys
print(sorted({"anthropic", "httpx2", "keyring", "pydantic", "PySide6"} & sys.modules.keys()))
"""
    assert await _printed_by(program) == "[]"


async def test_an_imported_sdk_is_frozen_out_of_the_collectors_way() -> None:
    program = """
import gc
from desktop_agent.core.providers.sdk_import import import_sdk
import_sdk(("json.tool",))
print(gc.isenabled(), gc.get_freeze_count() > 0)
"""
    assert await _printed_by(program) == "True True"


def test_a_failed_import_leaves_the_collector_on() -> None:
    with pytest.raises(ModuleNotFoundError):
        import_sdk(("no_such_module_of_ours",))
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        import_sdk(("colorsys",))
        assert not gc.isenabled()
    finally:
        gc.enable()
