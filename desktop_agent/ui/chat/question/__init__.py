"""What waits for the user's answer, on cards in the conversation.

A card answers only what was in sight for a moment, and only what was seen whole. It gives its answer to `EntryActions`;
nothing here submits it.
"""
