"""`Reranker`: how well documents fit a query, read together by an exported cross-encoder, without torch.

A cross-encoder sees both texts at once. That is more exact than comparing vectors and far slower, so it is for the few
documents that a search has found.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pocketbert.errors import CheckpointError, ConfigError, InputError, check_count
from pocketbert.runtime.config import check_head
from pocketbert.runtime.documents import stretches
from pocketbert.runtime.embed import Long
from pocketbert.runtime.folder import find_model
from pocketbert.runtime.inputs import check_without_torch, is_list, kind_of
from pocketbert.runtime.rows import Row, per_batch
from pocketbert.runtime.session import EngineName, Precision, Session
from pocketbert.text.label_config import chances
from pocketbert.text.tokenizer import Tokenizer
from pocketbert.vectors.progress import Progress

Activation = Literal["sigmoid", "identity"]
# As CrossEncoder writes it into config.json.
ACTIVATIONS: dict[object, Activation] = {
    "torch.nn.modules.activation.Sigmoid": "sigmoid",
    "torch.nn.modules.linear.Identity": "identity",
}
AHEAD = 1024  # pairs that are read together
USUAL_TOKENS = 16  # of a text in a batch, as for `Embedder`
LEAST_ROOM = 8  # tokens of a document in a window beside its query

Floats = NDArray[np.float32]
Pair = tuple[str, str]


class Reranker:
    """Scores pairs of texts with an exported model that gives one number a pair.

        reranker = Reranker.load("runs/reranker-onnx")
        for hit in reranker.rank("How do I mend a puncture?", documents, top_k=3, return_documents=True):
            print(hit["score"], hit["text"])

    The names, defaults and results are those of sentence-transformers' CrossEncoder, but for long documents: these are
    read in windows, to their end, and have the score of their best window.
    """

    def __init__(
        self,
        session: Session,
        tokenizer: Tokenizer,
        *,
        max_length: int = 512,
        activation: Activation = "sigmoid",
    ) -> None:
        if "logits" not in session.outputs:
            raise CheckpointError(
                f"{session.path} gives {', '.join(session.outputs)}; a reranker gives logits: take a model that was "
                "trained to score pairs of texts"
            )
        self.session = session
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.activation: Activation = activation

    @classmethod
    def load(
        cls,
        name_or_folder: str | os.PathLike[str],
        *,
        precision: Precision | None = None,
        threads: int | None = None,
        engine: EngineName = "onnxruntime",
        revision: str | None = None,
    ) -> Reranker:
        """The reranker of a model folder or a hub name; see `Session.load` for the other choices."""
        found = find_model(name_or_folder, precision=precision, revision=revision)
        check_head(found.config, found.config_file, "ForSequenceClassification")
        if len(found.labels) != 1:
            raise CheckpointError(
                f"{found.path} gives {len(found.labels)} labels ({', '.join(found.labels[:10])}); a reranker gives one "
                "number: load this model as a Classifier"
            )
        return cls(
            Session.load(found.path, precision=precision, threads=threads, engine=engine),
            found.tokenizer,
            max_length=found.label_config().window,
            activation=_activation_of(found.config, found.config_file),
        )

    def predict(
        self,
        sentences: Pair | Sequence[str] | Iterable[Pair | Sequence[str]],
        *,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        activation_fn: Callable[[Floats], ArrayLike] | None = None,
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        device: Literal["cpu"] | None = None,
        long: Long = "windows",
    ) -> Any:
        """The scores (N,) of pairs of texts, or the score of one; the sigmoid of what the model says unless it asks
        for something else, or `activation_fn` does. Without `convert_to_numpy` the scores are a list.
        """
        check_without_torch(device, convert_to_tensor)
        check_count("batch_size", batch_size)
        if long not in get_args(Long):
            raise InputError(f"long is {long!r}; allowed are {', '.join(map(repr, get_args(Long)))}")
        one = is_list(sentences) and len(sentences) == 2 and all(isinstance(text, str) for text in sentences)
        pairs: Iterable[Any] = [sentences] if one else sentences
        if isinstance(pairs, str) or not isinstance(pairs, Iterable):
            raise InputError(f"the pairs are {kind_of(pairs)}; give a pair of texts, or several of them")
        given, total = enumerate(pairs), len(pairs) if isinstance(pairs, Sequence) else None
        blocks, cut, count = [np.empty(0, dtype=np.float32)], 0, 0
        with Progress(show_progress_bar, "pairs", total) as progress:
            while some := [_pair(number, pair) for number, pair in islice(given, AHEAD)]:
                logits, truncated = self._logits(some, 2 * USUAL_TOKENS * batch_size, long)
                blocks.append(logits)
                cut += truncated
                count += len(some)
                progress.add(len(some))
        if cut:
            advice = (
                "a shorter query leaves room to read them"
                if long == "windows"
                else "long='windows' reads them"
            )
            warnings.warn(
                f"{cut} of {count} pairs are longer than {self.max_length} tokens, and their ends were not read; "
                f"{advice}",
                stacklevel=2,
            )
        scores = self._activated(np.concatenate(blocks), activation_fn)
        return scores[0] if one else scores if convert_to_numpy else list(scores)

    def rank(
        self,
        query: str,
        documents: Iterable[str],
        top_k: int | None = None,
        return_documents: bool = False,
        *,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        activation_fn: Callable[[Floats], ArrayLike] | None = None,
        device: Literal["cpu"] | None = None,
        long: Long = "windows",
    ) -> list[dict[str, Any]]:
        """The documents that fit a query best, the best first: [{"corpus_id", "score"}, …], and "text" if asked for."""
        if top_k is not None:
            check_count("top_k", top_k)
        if isinstance(documents, str):
            raise InputError("the documents are one text; give a list of them")
        texts = list(documents)
        scores = self.predict(
            [(query, text) for text in texts],
            batch_size=batch_size,
            show_progress_bar=show_progress_bar,
            activation_fn=activation_fn,
            device=device,
            long=long,
        )
        order = np.argsort(-scores, kind="stable")[:top_k].tolist()
        found = [{"corpus_id": place, "score": float(scores[place])} for place in order]
        return [hit | {"text": texts[hit["corpus_id"]]} for hit in found] if return_documents else found

    def _logits(self, pairs: Sequence[Pair], tokens: int, long: Long) -> tuple[Floats, int]:
        """The best number of each pair, and how many pairs were cut."""
        rows: list[Row] = []
        owners: list[int] = []
        cut = 0
        known = self._ids(pairs)
        for number, (query, document) in enumerate(pairs):
            parts = self._windows(known[query], known[document]) if long == "windows" else None
            if parts is None:
                encoding = self.tokenizer.encode(query, document, max_length=self.max_length)
                cut += encoding.truncated > 0
                parts = [Row(encoding.ids, encoding.type_ids)]
            rows += parts
            owners += [number] * len(parts)
        best = np.full(len(pairs), -np.inf, dtype=np.float32)
        for places, found, _ in per_batch(
            rows, self.session, self.tokenizer, "logits", rank=2, tokens=tokens
        ):
            if found.shape[1] != 1:
                raise CheckpointError(
                    f"{self.session.path} gives {found.shape[1]} numbers a pair; a reranker gives one"
                )
            np.maximum.at(best, [owners[place] for place in places], found[:, 0])
        return best, cut

    def _ids(self, pairs: Sequence[Pair]) -> dict[str, list[int]]:
        """Every text once: a query comes with all its documents."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        return dict(zip(texts, self.tokenizer.ids(texts), strict=True))

    def _windows(self, query: list[int], document: list[int]) -> list[Row] | None:
        """A query beside all windows over a document; None if the query leaves no room for any."""
        layout = self.tokenizer.layout
        room = self.max_length - layout.special_tokens(2) - len(query)
        if room < min(LEAST_ROOM, len(document)):
            return None
        before, between, after = map(self.tokenizer.marks, (layout.before, layout.between, layout.after_two))
        step = room - room // 4
        found = []
        for part in stretches(len(document), room, step):
            some = document[part.first : part.last]
            ids = [*before, *query, *between, *some, *after]
            found.append(Row(ids, layout.types(len(query), len(some))))
        return found

    def _activated(self, logits: Floats, function: Callable[[Floats], ArrayLike] | None) -> Floats:
        if function is not None:
            return np.asarray(function(logits), dtype=np.float32)
        return chances(logits).astype(np.float32) if self.activation == "sigmoid" else logits

    def __repr__(self) -> str:
        return f"<Reranker of {self.session.path}>"


def _activation_of(config: Mapping[str, Any], path: Path) -> Activation:
    """What a CrossEncoder's config.json asks for; without a word about it, the sigmoid."""
    newer = config.get("sentence_transformers")
    name = newer.get("activation_fn") if isinstance(newer, dict) else None
    name = name or config.get("sbert_ce_default_activation_function")
    if name is None:
        return "sigmoid"
    if name not in ACTIVATIONS:
        allowed = ", ".join(map(str, ACTIVATIONS))
        raise ConfigError(f"{path}: the activation is {name!r}; it must be one of {allowed}")
    return ACTIVATIONS[name]


def _pair(number: int, given: object) -> Pair:
    if not is_list(given) or len(given) != 2:
        raise InputError(f"pair {number} is {kind_of(given)}; every one must be two texts, (query, document)")
    for text in given:
        if not isinstance(text, str):
            raise InputError(f"pair {number} has a text that is {kind_of(text)}; both must be texts (str)")
    return given[0], given[1]
