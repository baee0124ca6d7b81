"""The module that is trained: a sentence model and its loss, on batches as large as they need to be.

Losses with negatives from the batch want large batches, and a large batch wants memory for the activations of all its
texts. With `chunk` only those of so many texts are kept at a time: the batch is read in chunks without them, the loss
gives the gradient of every vector, and each chunk is read a second time to carry its gradients on (gradient cache,
arXiv 2101.06983). Checkpointing each chunk does exactly that, dropout included: the gradients are those of the whole
batch. It costs one more forward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from pocketbert.data.sentences import losses
from pocketbert.data.sentences.formats import LossName
from pocketbert.errors import InputError
from pocketbert.heads import Model

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
Loss = Callable[[Tensor, Mapping[str, Tensor]], Tensor]


class SentenceLesson(nn.Module):
    """A sentence model that can be told how far its vectors are from what a batch says. C texts in each of B rows.

    A batch has the texts as `input_ids`, `attention_mask` and `token_type_ids` (C·B, S), first all first texts, then all
    second ones; `columns`, which is C; and what its loss needs: `labels` (B), `numbers` (C, B) or `taught` (B, D).
    """

    def __init__(
        self,
        model: Model,
        loss: nn.Module,
        *,
        chunk: int | None = None,
        matryoshka: Sequence[int] = (),
    ) -> None:
        super().__init__()
        self.model = model
        self.loss = loss
        self.chunk = chunk
        self.matryoshka = tuple(matryoshka)

    def forward(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss, and each of its parts where there are several."""
        vectors = self.vectors(batch).unflatten(0, (int(batch["columns"]), -1))  # (C, B, D)
        if not self.matryoshka:
            return self.loss(vectors, batch), {}
        return self._matryoshka(vectors, batch)

    def vectors(self, batch: Mapping[str, Tensor]) -> Tensor:
        """The vectors (C·B, D) of all texts."""
        inputs = tuple(batch[name] for name in INPUTS)
        if self.chunk is None or len(inputs[0]) <= self.chunk or not torch.is_grad_enabled():
            return self._read(*inputs)
        parts = [
            checkpoint(self._read, *part, use_reentrant=False)
            for part in zip(*(whole.split(self.chunk) for whole in inputs), strict=True)
        ]
        return torch.cat(parts)

    def _read(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        vectors: Tensor = self.model(ids, mask, types).vectors
        return vectors

    def _matryoshka(
        self, vectors: Tensor, batch: Mapping[str, Tensor]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The mean of the loss over the first so many dimensions, for each size (arXiv 2205.13147).

        A vector of length one is made so again after the cut, as it is when one is cut in use.
        """
        normalize = self.model.head.config.normalize
        found: dict[str, Tensor] = {}
        for size in self.matryoshka:
            cut = vectors[..., :size]
            cut_batch = dict(batch)
            if "taught" in batch:
                cut_batch["taught"] = batch["taught"][..., :size]
                if normalize:
                    cut_batch["taught"] = F.normalize(cut_batch["taught"], dim=-1)
            found[f"loss_{size}"] = self.loss(F.normalize(cut, dim=-1) if normalize else cut, cut_batch)
        return torch.stack(list(found.values())).mean(), {
            name: value.detach() for name, value in found.items()
        }


def make_loss(
    name: LossName,
    *,
    dimensions: int,
    labels: int = 2,
    scale: float = 20.0,
    margin: float | None = None,
    taught_dimensions: int | None = None,
    compare: str = "distance",
) -> nn.Module:
    """The loss of a name, ready for batches.

    `taught_dimensions` are those of a teacher whose vectors are longer or shorter than the model's, and are not
    projected: then a layer learns along that maps the model's to the teacher's, and is left behind.
    """
    if name == "softmax":
        return _Labelled(losses.SoftmaxLoss(dimensions, labels))
    if name == "distill":
        by = {"distance": losses.distance, "angle": losses.angle}
        if compare not in by:
            raise InputError(f"compare = {compare}: it must be one of {', '.join(by)}")
        return _Taught(by[compare], dimensions, taught_dimensions or dimensions)
    if name == "ranking":
        return _Ranking(scale)
    if name == "triplet":
        return _Function(lambda vectors, _: losses.triplet(vectors, margin=1.0 if margin is None else margin))
    scored: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
        "cosine": losses.cosine_regression,
        "cosent": partial(losses.cosent, scale=scale),
        "contrastive": partial(losses.contrastive, margin=0.5 if margin is None else margin),
    }
    if name not in scored:
        raise InputError(f"loss = {name}: it must be one of {', '.join((*scored, 'softmax', 'ranking', 'triplet', 'distill'))}")
    loss = scored[name]
    return _Function(lambda vectors, batch: loss(vectors, batch["labels"]))


class _Function(nn.Module):
    def __init__(self, function: Loss) -> None:
        super().__init__()
        self.function = function

    def forward(self, vectors: Tensor, batch: Mapping[str, Tensor]) -> Tensor:
        return self.function(vectors, batch)


class _Ranking(nn.Module):
    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, vectors: Tensor, batch: Mapping[str, Tensor]) -> Tensor:
        return losses.ranking(vectors, scale=self.scale, numbers=batch.get("numbers"))


class _Labelled(nn.Module):
    def __init__(self, softmax: losses.SoftmaxLoss) -> None:
        super().__init__()
        self.softmax = softmax

    def forward(self, vectors: Tensor, batch: Mapping[str, Tensor]) -> Tensor:
        loss: Tensor = self.softmax(vectors, batch["labels"])
        return loss


class _Taught(nn.Module):
    def __init__(
        self, compare: Callable[[Tensor, Tensor], Tensor], dimensions: int, taught_dimensions: int
    ) -> None:
        super().__init__()
        self.compare = compare
        different = dimensions != taught_dimensions
        self.projection = nn.Linear(dimensions, taught_dimensions) if different else None

    def forward(self, vectors: Tensor, batch: Mapping[str, Tensor]) -> Tensor:
        fitted = vectors if self.projection is None else self.projection(vectors)
        return self.compare(fitted, batch["taught"])
