"""The store on a server: PostgreSQL with pgvector."""

from pocketbert.search.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
