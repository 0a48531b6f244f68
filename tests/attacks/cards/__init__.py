"""Hostile commands on the question's card, answered in the whole application."""
