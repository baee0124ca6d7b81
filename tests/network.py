"""A wall against the network, for tests of code that must not need one.

It listens to the interpreter's audit events instead of replacing functions of `socket`, so that a
library which kept its own reference to `connect` does not slip through. An audit hook cannot be
taken out again: it is put in once, and the fixture switches it on and off.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator

import pytest

LOOKUPS = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}
CONTACTS = {"socket.connect", "socket.sendto", "socket.sendmsg"}

_attempts: list[str] | None = None
_hooked = False


class NetworkUsedError(OSError):
    """Somebody reached for the network behind the wall; an OSError, as a real failure would be."""


@pytest.fixture
def no_network() -> Iterator[None]:
    """Refuse every look-up and connection, and fail the test even if the code swallowed the refusal."""
    global _attempts, _hooked
    if not _hooked:
        sys.addaudithook(_listen)
        _hooked = True
    attempts = _attempts = []
    try:
        yield
    finally:
        _attempts = None
    assert not attempts, f"the network was used: {attempts}"


def _listen(event: str, arguments: tuple[object, ...]) -> None:
    if _attempts is None or event not in LOOKUPS | CONTACTS:
        return
    if event in CONTACTS and getattr(arguments[0], "family", None) == getattr(socket, "AF_UNIX", ""):
        return  # processes of one machine talking to each other
    target = arguments[1] if event in CONTACTS else arguments[0]
    _attempts.append(f"{event} {target}")
    raise NetworkUsedError(f"{event} behind the wall")
