"""The overlays that the review panel draws over a diff: decisions, moved lines, comments, and an editor."""
