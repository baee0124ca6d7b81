"""Feature maps to answers: heads, models with a head, and the folders they live in."""

from __future__ import annotations

from pocketbert.heads.classify import ChoiceHead, ClassificationHead, ClassificationOutput, Problem
from pocketbert.heads.folder import LoadReport, load, save
from pocketbert.heads.masked_lm import MaskedLMHead, MaskedLMOutput
from pocketbert.heads.model import Model, build
from pocketbert.heads.next_sentence import (
    NextSentenceHead,
    NextSentenceOutput,
    PreTrainingHead,
    PreTrainingOutput,
)
from pocketbert.heads.permutation_lm import PermutationLMHead, PermutationLMOutput
from pocketbert.heads.pooling import PoolingHead, SentenceOutput, pool
from pocketbert.heads.sentence_order import (
    OrderPreTrainingHead,
    OrderPreTrainingOutput,
    SentenceOrderHead,
    SentenceOrderOutput,
)
from pocketbert.heads.sentences import (
    SentenceHead,
    load_sentences,
    save_sentences,
    sentence_model,
)
from pocketbert.heads.span import SpanHead, SpanOutput
from pocketbert.heads.tags import TagHead, TagOutput
from pocketbert.text.sentence_config import Pooling

__all__ = [
    "ChoiceHead",
    "ClassificationHead",
    "ClassificationOutput",
    "LoadReport",
    "MaskedLMHead",
    "MaskedLMOutput",
    "Model",
    "NextSentenceHead",
    "NextSentenceOutput",
    "OrderPreTrainingHead",
    "OrderPreTrainingOutput",
    "PermutationLMHead",
    "PermutationLMOutput",
    "Pooling",
    "PoolingHead",
    "PreTrainingHead",
    "PreTrainingOutput",
    "Problem",
    "SentenceHead",
    "SentenceOrderHead",
    "SentenceOrderOutput",
    "SentenceOutput",
    "SpanHead",
    "SpanOutput",
    "TagHead",
    "TagOutput",
    "build",
    "load",
    "load_sentences",
    "pool",
    "save",
    "save_sentences",
    "sentence_model",
]
