"""The bar at the top of the window, and its menus."""

from desktop_agent.ui.window.bar.top_bar import TopBar

__all__ = ["TopBar"]
