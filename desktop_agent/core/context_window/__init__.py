"""The model's view of a running session: requests, compaction, pins, guidance, and how full the context is."""

from desktop_agent.core.context_window.context_manager import ContextManager, ContextOp

__all__ = ["ContextManager", "ContextOp"]
