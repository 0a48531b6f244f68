"""An SDK costs nothing until a provider needs it."""

import asyncio
import sys


async def test_importing_the_provider_imports_no_sdk() -> None:
    program = """
import sys
import desktop_agent.core.providers.anthropic, desktop_agent.core.providers.auth.keys
print(sorted({"anthropic", "httpx2", "keyring", "pydantic", "PySide6"} & sys.modules.keys()))
"""
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
    output, _ = await child.communicate()
    assert child.returncode == 0
    assert output.decode().strip() == "[]"
