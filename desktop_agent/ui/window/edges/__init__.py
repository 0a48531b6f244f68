"""What stands at the edges of the window, and how the conversation between them takes its room."""
