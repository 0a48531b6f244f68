"""Questions that wait for the user's answer, as cards in the conversation.

A card accepts an answer only if the question was visible for a moment and was seen in full. Answers go to
`EntryActions`, which does not submit them itself.
"""
