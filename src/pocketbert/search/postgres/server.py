"""A connection to a server that outlives its losses: work is done again with a new one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg

from pocketbert.search.postgres.address import Address
from pocketbert.search.postgres.errors import explained, passes
from pocketbert.search.postgres.tables import find_names

Connection = psycopg.Connection[Any]
T = TypeVar("T")


class Server:
    """Does work on a server; for `patience` seconds it waits for one that is gone, once it has been there."""

    def __init__(self, address: Address, patience: float) -> None:
        self.address = address
        self._patience = patience
        self._connection: Connection | None = None
        self._seen = False

    def rows(self, query: str, *values: Any, **named: Any) -> list[tuple[Any, ...]]:
        """What a query gives."""
        return self.do(
            "read", lambda connection: connection.execute(query, named or values or None).fetchall()
        )

    def do(self, done: str, work: Callable[[Connection], T]) -> T:
        """Do some work, which must come to the same if it is done twice; `done` says what it is, for errors."""
        until = time.monotonic() + self._patience
        pause = 0.05
        while True:
            try:
                return work(self._connected())
            except psycopg.Error as error:
                waiting = self._seen and time.monotonic() < until
                if not (waiting and passes(error, self._connection)):
                    raise explained(error, str(self.address), done) from error
            time.sleep(pause)
            pause = min(2 * pause, 1.0)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()

    def _connected(self) -> Connection:
        if self._connection is not None and not self._connection.closed:
            return self._connection
        self._connection = None
        # Who is gone without a word, as by a cable that was pulled, is known to be gone after half a minute.
        connection = psycopg.connect(
            self.address.database, autocommit=True, application_name="pocketbert", connect_timeout=10,
            keepalives_idle=10, keepalives_interval=5, keepalives_count=4,
        )  # fmt: skip
        try:
            connection.execute(f"set lock_timeout = {max(int(1000 * self._patience), 1)}")
            find_names(connection, self.address.schema)
        except BaseException:
            connection.close()
            raise
        self._connection, self._seen = connection, True
        return connection
