"""Journeys through the real window as one user makes them: with the mouse, or with nothing but the keyboard."""
