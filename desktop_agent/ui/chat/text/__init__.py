"""Blocks of text laid out and painted: what the transcript is drawn with."""
