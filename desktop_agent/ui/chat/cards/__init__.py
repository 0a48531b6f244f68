"""The bodies of tool call cards, below each card's line. `families` chooses the body for a result.

A result's metadata is untrusted. Nothing is loaded from the network.
"""
