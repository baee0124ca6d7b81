"""The texts of a list that mean nearly the same, found by an embedder."""

from __future__ import annotations

from collections.abc import Iterable

from pocketbert.runtime.embed import Embedder
from pocketbert.vectors.search import paraphrase_mining_embeddings
from pocketbert.vectors.similarity import Score


def paraphrase_mining(
    model: Embedder,
    sentences: Iterable[str],
    show_progress_bar: bool | None = None,
    batch_size: int = 32,
    query_chunk_size: int = 5000,
    corpus_chunk_size: int = 100_000,
    max_pairs: int = 500_000,
    top_k: int = 100,
    score_function: Score = "cosine",
    truncate_dim: int | None = None,
    prompt_name: str | None = None,
    prompt: str | None = None,
) -> list[list[float | int]]:
    """The sentences of a list that are most alike: [[score, first, second], …], the most alike first."""
    vectors = model.encode(
        list(sentences),
        prompt_name=prompt_name,
        prompt=prompt,
        batch_size=batch_size,
        show_progress_bar=show_progress_bar,
        truncate_dim=truncate_dim,
    )
    return paraphrase_mining_embeddings(
        vectors, query_chunk_size, corpus_chunk_size, max_pairs, top_k, score_function
    )
