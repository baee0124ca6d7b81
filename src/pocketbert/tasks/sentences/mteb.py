"""Our embedders as MTEB sees a model (github.com/embeddings-benchmark/mteb, version 2 and later).

    import mteb                                    # pip install "pocketbert[mteb]"
    from pocketbert.tasks.sentences.mteb import MtebModel

    model = MtebModel("runs/embedder")
    mteb.evaluate(model, mteb.get_tasks(["STSBenchmark"]))

The benchmark downloads its data itself. Nothing here imports it before a model is asked for its description.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import InputError, needing, require
from pocketbert.tasks.sentences.metrics import cosines
from pocketbert.text.sentence_config import SentenceConfig
from pocketbert.vectors.similarity import unit

Vectors = NDArray[np.float32]


class Embeds(Protocol):
    """What gives vectors: the embedder of the light runtime, or of torch."""

    @property
    def config(self) -> SentenceConfig:
        """How vectors are made."""

    def encode(self, texts: list[str], *, prompt_name: str | None = None) -> Vectors:
        """The vectors (N, D) of texts; `prompt_name` is one of the config's prompts."""


class MtebModel:
    """The interface that MTEB calls `EncoderProtocol`, around any of our embedders."""

    def __init__(
        self,
        model_name: str | Path,
        revision: str | None = None,
        *,
        embedder: Embeds | None = None,
        device: str | None = None,
        **_others: Any,
    ) -> None:
        """Take a model folder or a hub name, and load it in torch unless an `embedder` is given."""
        self.name, self.revision = str(model_name), revision
        if embedder is None:
            with needing("lab"):
                from pocketbert.tasks.sentences.predict import TorchEmbedder
            embedder = loaded = TorchEmbedder.load(model_name)
            loaded.model.to(device or "cpu")
        self.embedder: Embeds = embedder

    def encode(
        self,
        inputs: Iterable[Mapping[str, Any]],
        *,
        task_metadata: Any = None,
        hf_split: str = "test",  # noqa: ARG002 - the interface's
        hf_subset: str = "default",  # noqa: ARG002
        prompt_type: Any = None,
        **_others: Any,
    ) -> Vectors:
        """The vectors of batches, each with its texts under `text`."""
        texts: list[str] = []
        for batch in inputs:
            if "text" not in batch:
                raise InputError(
                    f"a batch of MTEB has {', '.join(batch)}; only tasks of text can be measured"
                )
            texts += batch["text"]
        return self.embedder.encode(texts, prompt_name=self._prompt(task_metadata, prompt_type))

    def similarity(self, embeddings1: Any, embeddings2: Any) -> NDArray[np.float32]:
        """The cosine of each vector with each (N, M)."""
        return unit(_rows(embeddings1)) @ unit(_rows(embeddings2)).T

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> NDArray[np.float64]:
        """The cosine of each pair (N,)."""
        return cosines(_rows(embeddings1), _rows(embeddings2))

    @property
    def mteb_model_meta(self) -> Any:
        """What the benchmark writes beside the scores."""
        config = self.embedder.config
        folder = Path(self.name)
        name = f"pocketbert/{folder.resolve().name}" if folder.is_dir() else self.name
        return require("mteb.models", extra="mteb").ModelMeta.create_empty(
            overwrites={
                "name": name,
                "revision": self.revision or "local",
                "embed_dim": config.dimensions,
                "max_tokens": config.max_seq_length,
                "similarity_fn_name": "cosine",
                "framework": ["PyTorch"],
                "use_instructions": False,
            }
        )

    def _prompt(self, task: Any, kind: Any) -> str | None:
        """The prompt of the model for a task: by the task's name, its type, or whether texts are queries."""
        known = self.embedder.config.prompts
        asked = [getattr(task, "name", None), getattr(task, "type", None), getattr(kind, "value", kind)]
        return next((name for name in asked if name is not None and name in known), None)


def _rows(vectors: Any) -> NDArray[np.float32]:
    return np.atleast_2d(np.asarray(vectors, dtype=np.float32))
