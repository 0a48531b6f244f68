"""The bodies of tool call cards, below the card's line: one for each family of results, chosen in `families`.

A result's metadata can come from anyone: none of it is trusted, and nothing is loaded from the network.
"""
