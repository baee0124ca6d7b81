"""BERT-class reading in your pocket.

The public names are listed here and imported when first used, so that `import pocketbert` costs next to
nothing and never imports torch, onnxruntime or transformers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pocketbert.errors import (
        BulkError,
        CheckpointError,
        ConfigError,
        ExportError,
        HubError,
        InputError,
        MissingExtraError,
        PocketbertError,
        SearchError,
        TokenizerError,
        TrainingError,
    )
    from pocketbert.heads import build, load
    from pocketbert.model import (
        AlbertConfig,
        BertConfig,
        DistilBertConfig,
        MobileBertConfig,
        RobertaConfig,
        XLNetConfig,
        preset,
    )
    from pocketbert.runtime.answer import Answer
    from pocketbert.runtime.classify import Classifier
    from pocketbert.runtime.embed import Embedder
    from pocketbert.runtime.features import Features
    from pocketbert.runtime.fill import Filler
    from pocketbert.runtime.mining import paraphrase_mining
    from pocketbert.runtime.pipeline import pipeline
    from pocketbert.runtime.questions import QuestionAnswerer
    from pocketbert.runtime.rerank import Reranker
    from pocketbert.runtime.tags import Tagger
    from pocketbert.text.tokenizer import Tokenizer
    from pocketbert.text.windows import windows
    from pocketbert.vectors.communities import community_detection
    from pocketbert.vectors.rounding import quantize_embeddings
    from pocketbert.vectors.search import (
        paraphrase_mining_embeddings,
        semantic_search,
    )
    from pocketbert.vectors.similarity import similarity, similarity_pairwise

__version__ = "0.1.0.dev0"

__all__ = [
    "AlbertConfig",
    "Answer",
    "BertConfig",
    "BulkError",
    "CheckpointError",
    "Classifier",
    "ConfigError",
    "DistilBertConfig",
    "Embedder",
    "ExportError",
    "Features",
    "Filler",
    "HubError",
    "InputError",
    "MissingExtraError",
    "MobileBertConfig",
    "PocketbertError",
    "QuestionAnswerer",
    "Reranker",
    "RobertaConfig",
    "SearchError",
    "Tagger",
    "Tokenizer",
    "TokenizerError",
    "TrainingError",
    "XLNetConfig",
    "__version__",
    "build",
    "community_detection",
    "load",
    "paraphrase_mining",
    "paraphrase_mining_embeddings",
    "pipeline",
    "preset",
    "quantize_embeddings",
    "semantic_search",
    "similarity",
    "similarity_pairwise",
    "windows",
]

_HOMES = {
    "AlbertConfig": "pocketbert.model",
    "Answer": "pocketbert.runtime.answer",
    "BertConfig": "pocketbert.model",
    "BulkError": "pocketbert.errors",
    "CheckpointError": "pocketbert.errors",
    "Classifier": "pocketbert.runtime.classify",
    "ConfigError": "pocketbert.errors",
    "DistilBertConfig": "pocketbert.model",
    "Embedder": "pocketbert.runtime.embed",
    "ExportError": "pocketbert.errors",
    "Features": "pocketbert.runtime.features",
    "Filler": "pocketbert.runtime.fill",
    "HubError": "pocketbert.errors",
    "InputError": "pocketbert.errors",
    "MissingExtraError": "pocketbert.errors",
    "MobileBertConfig": "pocketbert.model",
    "PocketbertError": "pocketbert.errors",
    "QuestionAnswerer": "pocketbert.runtime.questions",
    "Reranker": "pocketbert.runtime.rerank",
    "RobertaConfig": "pocketbert.model",
    "SearchError": "pocketbert.errors",
    "Tagger": "pocketbert.runtime.tags",
    "Tokenizer": "pocketbert.text.tokenizer",
    "TokenizerError": "pocketbert.errors",
    "TrainingError": "pocketbert.errors",
    "XLNetConfig": "pocketbert.model",
    "build": "pocketbert.heads",
    "community_detection": "pocketbert.vectors.communities",
    "load": "pocketbert.heads",
    "paraphrase_mining": "pocketbert.runtime.mining",
    "paraphrase_mining_embeddings": "pocketbert.vectors.search",
    "pipeline": "pocketbert.runtime.pipeline",
    "preset": "pocketbert.model",
    "quantize_embeddings": "pocketbert.vectors.rounding",
    "semantic_search": "pocketbert.vectors.search",
    "similarity": "pocketbert.vectors.similarity",
    "similarity_pairwise": "pocketbert.vectors.similarity",
    "windows": "pocketbert.text.windows",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        allowed = ", ".join(__all__)
        raise AttributeError(f"module 'pocketbert' has no attribute {name!r}; its names are: {allowed}")
    from pocketbert.errors import require

    value = getattr(require(_HOMES[name], extra="lab"), name)
    globals()[name] = value  # the next access no longer comes here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
