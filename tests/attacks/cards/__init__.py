"""Hostile commands on the card of a question, answered with key and mouse in the whole application."""
