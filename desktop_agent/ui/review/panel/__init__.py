"""The review panel: one file's pane, the bars around it, and what becomes of the user's decisions."""
