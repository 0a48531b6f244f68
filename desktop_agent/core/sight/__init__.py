"""What the model sees, kept up while a session runs: requests, compaction, pins, guidance, and how full it all is."""

from desktop_agent.core.sight.sight import Sight, SightOp, SightParts

__all__ = ["Sight", "SightOp", "SightParts"]
