"""Layout and painting of text blocks for the transcript."""
