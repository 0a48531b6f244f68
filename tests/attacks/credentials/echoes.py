"""Server answers that repeat what they were sent, so that error messages contain secrets."""

from tests.servers import fault
from tests.servers.script import Answer, Whole, reply, text

_NAME, _MESSAGE = 100, 2_000
"""The lengths at which names and messages are cut."""


def echoes(secret: str) -> list[Answer]:
    """Failures that contain the secret, whole or at a point where messages are cut."""
    said = f"Bad credential: {secret}"
    header = f'{{"Authorization": "Bearer {secret}", "x-api-key": "{secret}", "x-gateway": "Bearer {secret}"}}'
    page = {"content-type": "text/html", "request-id": secret, "x-request-id": secret}
    return [
        fault.unauthorized(said),
        fault.status(403, "permission_error", said, code=secret),
        fault.status(400, "invalid_request_error", f"{said} in {header}"),
        fault.status(500, "api_error", f"Failed with the headers {header}"),
        fault.status(404, "not_found_error", said),
        fault.status(429, secret, said, retry_after=secret),
        Whole(500, {"error": {"message": header, "type": secret}, "request": {"headers": {"authorization": secret}}}),
        Whole(401, f"<html>{header}</html>", page),
        Whole(302, "", {"location": f"http://127.0.0.1:9/?key={secret}"}),
        *_cut(secret),
        reply(text("Half of"), fault.error_after(events=3, message=said)),
        reply(text("Half of"), fault.error_after(events=3, type=secret, message=said)),
        reply(text("Half of"), fault.garbage_after(events=3, data=header.encode())),
        reply(text("Half of"), fault.garbage_after(events=3, data=secret.encode())),
    ]


def _cut(secret: str) -> list[Answer]:
    ends = [len(secret) - 1, len(secret) // 2 + 4]
    long = [(_before(_MESSAGE, end, secret), _before(_NAME, end, secret)) for end in ends]
    return [
        answer
        for message, name in long
        for answer in (
            fault.status(500, name, message, code=name),
            Whole(500, message, {"request-id": name, "x-request-id": name}),
        )
    ]


def _before(limit: int, shown: int, secret: str) -> str:
    return "x" * (limit - shown - 1) + " " + secret
