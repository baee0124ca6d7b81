"""How an index on a server is called: the address of a database, and the name of a schema behind a `#`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from pocketbert.errors import InputError
from pocketbert.search.store import is_address

SCHEMA = "pocketbert"
NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
SECRET = re.compile(r"(ssl|sslkey)?pass(word)?=", re.IGNORECASE)


@dataclass(frozen=True)
class Address:
    """A database, and the schema in it that is the index."""

    database: str
    schema: str = SCHEMA

    @classmethod
    def of(cls, written: str) -> Address:
        """From `postgresql://user@host/database#name`; without a name it is "pocketbert"."""
        if not is_address(written):
            raise InputError(
                f"{written} is no address of a database; write postgresql://USER@HOST/DATABASE#NAME"
            )
        database, _, name = written.partition("#")
        if name and not NAME.fullmatch(name):
            raise InputError(
                f"an index cannot be called {name!r}: give at most 63 small letters, digits and underscores, "
                "a letter first"
            )
        return cls(database, name or SCHEMA)

    def __str__(self) -> str:
        """As errors may show it: without the password."""
        parts = urlsplit(self.database)
        user, _, host = parts.netloc.rpartition("@")
        name = user.partition(":")[0]
        options = "&".join(one for one in parts.query.split("&") if not SECRET.match(one))
        shown = urlunsplit(parts._replace(netloc=f"{name}@{host}" if name else host, query=options))
        return shown if self.schema == SCHEMA else f"{shown}#{self.schema}"
