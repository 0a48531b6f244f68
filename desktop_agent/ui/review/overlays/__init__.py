"""What the review panel draws over a diff: decisions, moved lines, room for an editor."""
