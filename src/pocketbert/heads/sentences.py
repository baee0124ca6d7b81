"""Models that give one vector for a text: the head, and the sentence-transformers folders they live in.

    model = load_sentences("FOLDER")               # theirs, ours, or any encoder: then mean and length one
    vectors = model(ids, mask, types).vectors      # (B, D)
    save_sentences(model, "OTHER")                 # sentence-transformers loads it, and gives the same vectors

Shapes: B texts, S tokens, W the width of the encoder, D the dimensions of a vector.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pocketbert import checkpoint, hub
from pocketbert.errors import ConfigError
from pocketbert.heads.folder import load, save
from pocketbert.heads.model import Model
from pocketbert.heads.pooling import SentenceOutput, pool
from pocketbert.model import Encoder, EncoderOutput
from pocketbert.text.sentence_config import SentenceConfig, read_sentence_config, write_sentence_config


class SentenceHead(nn.Module):
    """Pooling, perhaps a Dense layer, perhaps length one: what a `SentenceConfig` says."""

    needs_pooler = False

    def __init__(self, config: SentenceConfig) -> None:
        super().__init__()
        self.config = config
        layer = config.dense
        self.dense = None if layer is None else nn.Linear(layer.in_features, layer.out_features, layer.bias)
        self.fresh = self.dense is not None  # as it was drawn: nothing was learnt or loaded yet

    def forward(self, output: EncoderOutput, _words: Tensor) -> SentenceOutput:
        vectors = pool(output.last, output.mask, self.config.pooling)  # (B, W)
        if self.dense is not None and self.config.dense is not None:
            vectors = self.dense(vectors)  # (B, D)
            if self.config.dense.activation == "tanh":
                vectors = torch.tanh(vectors)
        return SentenceOutput(F.normalize(vectors, dim=-1) if self.config.normalize else vectors, output)


def sentence_model(encoder: Encoder, config: SentenceConfig) -> Model:
    """An encoder with a sentence head, whose Dense layer is new if it has one."""
    width = encoder.config.hidden_size
    if config.width != width:
        raise ConfigError(
            f"the vectors of the encoder's tokens have {width} numbers, and the sentence config expects {config.width}"
        )
    return Model(encoder, SentenceHead(config))


def load_sentences(name_or_folder: str | Path, *, config: SentenceConfig | None = None) -> Model:
    """The model of a sentence-transformers folder, or of any encoder: by default the mean of its tokens, of length one.

    Another `config` than the folder's own takes its place; a Dense layer is then kept if it has the same shape, and
    new if not.
    """
    folder = hub.resolve(name_or_folder).folder
    saved = read_sentence_config(folder)
    encoder: Encoder = load(folder, head="none")
    if config is None:
        width = encoder.config.hidden_size
        config = saved or SentenceConfig(dimensions=width, max_seq_length=None)
    model = sentence_model(encoder, config)
    if saved is not None and saved.dense is not None and _shape(saved) == _shape(config):
        tensors = checkpoint.read_tensors((folder / saved.dense.file).parent)
        own = {name.replace("linear.", "dense.", 1): value for name, value in tensors.items()}
        checkpoint.fill(model.head, own)
        sentence_head(model).fresh = False
    return model.eval()


def save_sentences(model: Model, folder: str | Path) -> None:
    """Write a folder that sentence-transformers loads: the encoder, the Dense layer, and what is done with them."""
    head = sentence_head(model)
    folder = Path(folder)
    save(model, folder)
    if head.dense is not None and head.config.dense is not None:
        place = (folder / head.config.dense.file).parent
        place.mkdir(parents=True, exist_ok=True)
        tensors = {f"linear.{name}": value.detach() for name, value in head.dense.named_parameters()}
        checkpoint.write_tensors(place, tensors)
    write_sentence_config(folder, head.config)


def sentence_head(model: Model) -> SentenceHead:
    """The sentence head of a model that has one."""
    if not isinstance(model.head, SentenceHead):
        raise ConfigError(f"the model has a {type(model.head).__name__}; a sentence model has a SentenceHead")
    return model.head


def _shape(config: SentenceConfig) -> tuple[int, int, bool] | None:
    layer = config.dense
    return None if layer is None else (layer.in_features, layer.out_features, layer.bias)
