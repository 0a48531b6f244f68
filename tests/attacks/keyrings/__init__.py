"""Silent, locked, slow, broken and missing keyrings: waiting for them is bounded."""
