"""What cards of tool calls show below their line: one body for each family of results, chosen in `families`.

Metadata of a result may come from anybody: nothing in it is trusted, and nothing is loaded from the network.
"""
