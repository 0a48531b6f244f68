"""Would the API accept this request? A module per wire format, for what the types of its SDK do not say.

The type checker proves the shape of what we build (`core/providers/sdk_types`). Left are rules between fields, and
what comes from elsewhere: names, ids, schemas, pictures, levels of effort, the parts that go back as they came.
"""
