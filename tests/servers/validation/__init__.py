"""Would the API accept this request? A module per wire format: the shape by its SDK's types, then the rules."""
