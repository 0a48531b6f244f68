"""Memory that the process keeps for later, given back after much was closed at once."""

from desktop_agent.core.system.allocator import give_back_memory
from desktop_agent.ui.runtime.garbage import collect_all


async def return_memory() -> None:
    """Collect garbage, and give what has become free back to the system. To be awaited on the window's loop."""
    collect_all()
    await give_back_memory()
