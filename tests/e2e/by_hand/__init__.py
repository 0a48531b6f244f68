"""Journeys through the real window by one user: with the mouse, or with the keyboard alone."""
