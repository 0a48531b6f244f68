"""The REST server, started by `desktop-agent serve`: a front end that submits ops and passes events on."""
