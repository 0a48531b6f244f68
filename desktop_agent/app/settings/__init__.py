"""The settings while the window is open: editing, following and applying them."""
