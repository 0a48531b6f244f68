"""Files for tools: finding, listing, searching, reading as text, and planning edits. Nothing here writes."""
