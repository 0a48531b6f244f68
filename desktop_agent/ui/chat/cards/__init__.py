"""The bodies of tool call cards, below each card's line. `families` chooses the body for a result.

A result's metadata is untrusted. Nothing is loaded from the network.

Also the cards of questions that wait for the user's answer: they accept it only if the question was visible for a
moment and was seen in full, and pass it to `EntryActions`, which does not submit it itself.
"""
