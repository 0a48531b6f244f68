"""`desktop-agent batch`: many runs, each with one result."""

WORKER = "desktop_agent.cli.batch.worker"
"""The module that worker processes run, here and on a cluster."""
