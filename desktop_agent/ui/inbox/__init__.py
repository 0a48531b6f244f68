"""The inbox: questions and ended turns of all sessions."""
