"""Overlays of the review panel over a diff: decisions, moved lines, and comments."""
