"""The server for programs and browsers, over real sockets."""
