"""Code of an answer, written into a file once the user has seen the difference."""
