"""`desktop-agent tools`: the model's tools, listed, described and called by hand."""
