"""The pooler, and models that do without: a head then reads the first token's feature map as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pocketbert.errors import InputError
from pocketbert.heads.model import Model
from pocketbert.model.layers import Pooler


def leave_out_pooler(model: Model) -> None:
    """Take the dense layer and its tanh from between encoder and head, if the architecture knows models without.

    MobileBERT's authors found that its pooler can hurt on GLUE. Its config says whether there is one
    (`classifier_activation`), so Hugging Face's classes load the result. BERT's and ALBERT's classifiers always have
    one, and RoBERTa's, DistilBERT's and XLNet's heads have a layer of their own.
    """
    encoder = model.encoder
    config: Any = encoder.config
    if not hasattr(config, "classifier_activation"):
        raise InputError(
            f"pooler = no, but a classifier of the family {config.model_type} cannot do without one: give pooler = auto"
        )
    if encoder.pooler is not None:
        encoder.config = replace(config, classifier_activation=False)
        encoder.pooler = Pooler(config.hidden_size, dense=False)
