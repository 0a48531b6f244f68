"""Questions that wait for the user's answer, as cards in the conversation.

A card answers only a question that was visible for a moment and was seen in full. It passes the answer to
`EntryActions`; nothing here submits it.
"""
