"""Questions to the user that wait for an answer, and the rules that answers make."""
