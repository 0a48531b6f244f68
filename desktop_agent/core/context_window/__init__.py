"""What the model sees, kept up while a session runs: requests, compaction, pins, guidance, and how full it all is."""

from desktop_agent.core.context_window.context_manager import ContextManager, ContextOp

__all__ = ["ContextManager", "ContextOp"]
