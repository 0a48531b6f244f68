"""Serves sessions to editors by the Agent Client Protocol: https://agentclientprotocol.com."""
