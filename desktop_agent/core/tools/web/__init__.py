"""The network for tools: which addresses may be reached, bounded downloads, pages as text, search engines."""
