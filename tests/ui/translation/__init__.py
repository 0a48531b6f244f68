"""Tests of `desktop_agent.ui.translation`."""
