"""The only modules that import the official SDK. They are imported when a server is first needed: this takes 1.2 s."""
