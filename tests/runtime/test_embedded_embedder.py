"""The embedder that comes with the package: it is whole, small, and knows what texts are about."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from pocketbert import Embedder, hub, semantic_search
from pocketbert.runtime.manifest import check_manifest

TRIPLETS = [
    ("The ferry leaves at nine.", "The boat departs at 9 o'clock.", "The bakery opens on Monday."),
    ("A man is playing a guitar.", "Somebody plays an instrument.", "A dog is running on the beach."),
    ("How much does the ticket cost?", "The fare is four euros.", "The station has two platforms."),
    (
        "The storm destroyed the roof.",
        "Strong wind ruined the top of the house.",
        "The soup needs more salt.",
    ),
    (
        "Who painted the ceiling?",
        "The ceiling was painted by a monk from Siena.",
        "The floor is made of oak.",
    ),
    ("She is a doctor in a hospital.", "She works as a physician.", "He repairs old clocks."),
    ("The price of oil fell.", "Crude became cheaper.", "The choir sang for an hour."),
    ("When was the bridge built?", "Its construction ended in 1874.", "Salmon swim up the river in spring."),
    ("Children are swimming in the lake.", "Kids swim in the water.", "The lake is frozen in winter."),
    ("He forgot his keys.", "He left the keys at home.", "The moon has no air."),
]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder.load()


def test_vectors_have_length_one_and_do_not_depend_on_the_batch(embedder: Embedder) -> None:
    texts = [text for row in TRIPLETS for text in row]
    vectors = embedder.encode(texts)
    assert vectors.shape == (30, embedder.get_sentence_embedding_dimension())
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-5
    alone = np.stack([embedder.encode(text) for text in texts])
    assert (vectors * alone).sum(axis=1).min() > 0.999


def test_what_means_the_same_is_nearer(embedder: Embedder) -> None:
    first, same, other = (embedder.encode(column) for column in zip(*TRIPLETS, strict=True))
    nearer = (first * same).sum(axis=1) > (first * other).sum(axis=1)
    assert nearer.sum() >= 9


def test_an_answer_is_found_among_many(embedder: Embedder) -> None:
    texts = [text for _, *rest in TRIPLETS for text in rest]
    hits = semantic_search(embedder.encode("At what time can I go by boat?"), embedder.encode(texts), top_k=1)
    assert texts[hits[0][0]["corpus_id"]] == "The boat departs at 9 o'clock."


def test_it_is_small_and_whole_and_has_a_name(embedder: Embedder) -> None:
    place = hub.EMBEDDED["embedder"]
    check_manifest(place, required=True)
    sizes = {
        name: sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        for name, folder in hub.EMBEDDED.items()
    }
    assert sizes["embedder"] < 12e6
    assert sum(sizes.values()) < 50e6
    by_name = Embedder.load("embedder").encode("A text.")
    assert np.array_equal(by_name, embedder.encode("A text."))


def test_it_needs_no_torch() -> None:
    code = "import sys; from pocketbert import Embedder; Embedder.load().encode('Hm.'); print('torch' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


def test_torch_takes_it_too(embedder: Embedder) -> None:
    """As the start of a training of one's own."""
    from pocketbert.tasks.sentences.predict import TorchEmbedder

    texts = [text for row in TRIPLETS for text in row]
    taken = TorchEmbedder.load("pocketbert/embedder").encode(texts)
    assert (taken * embedder.encode(texts)).sum(axis=1).mean() > 0.995
