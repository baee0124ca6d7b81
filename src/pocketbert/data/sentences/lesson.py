"""The module that is trained: a sentence model and its loss, on batches as large as they need to be.

Losses with negatives from the batch want large batches, and a large batch wants memory for the activations of all its
texts. With `chunk` only those of so many texts are kept at a time: the batch is read in chunks without them, the loss
gives the gradient of every vector, and each chunk is read a second time to carry its gradients on (gradient cache,
arXiv 2101.06983). Checkpointing each chunk does exactly that, dropout included: the gradients are those of the whole
batch. It costs one more forward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from pocketbert.data.sentences import losses
from pocketbert.data.sentences.formats import LossName
from pocketbert.heads import Model
from pocketbert.heads.sentences import sentence_head

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
TOGETHER = 32  # texts that are read at once, padded to the longest of them
Batch = Mapping[str, Any]
Compare = Literal["distance", "angle"]


class SentenceLesson(nn.Module):
    """A sentence model that can be told how far its vectors are from what a batch says. C texts in each of B rows.

    A batch has the texts as `input_ids`, `attention_mask` and `token_type_ids` (C·B, S), first all first texts, then
    all second ones; `columns`, which is C; and what its loss needs: `labels` (B), `numbers` (C, B) or `taught` (B, D).
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
        self.normalize = sentence_head(model).config.normalize
        self.loss = loss
        self.chunk = chunk
        self.matryoshka = tuple(matryoshka)

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss, and each of its parts where there are several."""
        flat = self.vectors(batch)  # (C·B, D)
        vectors = flat.view(batch["columns"], -1, flat.shape[-1])  # (C, B, D)
        if not self.matryoshka:
            return self.loss(vectors, batch), {}
        return self._matryoshka(vectors, batch)

    def vectors(self, batch: Batch) -> Tensor:
        """The vectors (C·B, D) of all texts."""
        inputs = tuple(batch[name] for name in INPUTS)
        if self.chunk is None or len(inputs[0]) <= self.chunk or not torch.is_grad_enabled():
            return self._read_by_length(*inputs)
        parts = [
            checkpoint(self._read_by_length, *part, use_reentrant=False)
            for part in zip(*(whole.split(self.chunk) for whole in inputs), strict=True)
        ]
        return torch.cat(parts)

    def _read_by_length(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        """The vectors of texts, those of like length read together: a question is a third as long as its passage.

        An accelerator gets all at once: what it saves in padding it would lose in small steps.
        """
        if ids.device.type != "cpu":
            return self._read(ids, mask, types)
        order = mask.sum(dim=1).argsort(stable=True)
        found = []
        for rows in torch.split(order, TOGETHER):
            used = mask[rows].any(dim=0).nonzero()
            part = slice(int(used.min()), int(used.max()) + 1)
            found.append(self._read(ids[rows, part], mask[rows, part], types[rows, part]))
        return torch.cat(found)[order.argsort()]

    def _read(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        vectors: Tensor = self.model(ids, mask, types).vectors
        return vectors

    def _matryoshka(self, vectors: Tensor, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """The mean of the loss over the first so many dimensions, for each size (arXiv 2205.13147).

        A vector of length one is made so again after the cut, as it is when one is cut in use.
        """
        found: dict[str, Tensor] = {}
        for size in self.matryoshka:
            cut = vectors[..., :size]
            cut_batch = dict(batch)
            if "taught" in batch:
                cut_batch["taught"] = batch["taught"][..., :size]
                if self.normalize:
                    cut_batch["taught"] = F.normalize(cut_batch["taught"], dim=-1)
            found[f"loss_{size}"] = self.loss(F.normalize(cut, dim=-1) if self.normalize else cut, cut_batch)
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
    compare: Compare = "distance",
) -> nn.Module:
    """The loss of a name, called with vectors (C, B, D) and their batch.

    `taught_dimensions` are those of a teacher's vectors where they are not the model's: a layer then learns along that
    maps the ones to the others, and is left behind.
    """
    if name == "softmax":
        return losses.SoftmaxLoss(dimensions, labels)
    if name == "distill":
        chosen = losses.distance if compare == "distance" else losses.angle
        return losses.TaughtLoss(chosen, dimensions, taught_dimensions or dimensions)
    if name == "ranking":
        return _Function(
            lambda given, batch: losses.ranking(given, scale=scale, numbers=batch.get("numbers"))
        )
    if name == "triplet":
        return _Function(lambda given, _: losses.triplet(given, margin=1.0 if margin is None else margin))
    if name == "contrastive":
        apart = 0.5 if margin is None else margin
        return _Function(lambda given, batch: losses.contrastive(given, batch["labels"], margin=apart))
    if name == "cosent":
        return _Function(lambda given, batch: losses.cosent(given, batch["labels"], scale=scale))
    return _Function(lambda given, batch: losses.cosine_regression(given, batch["labels"]))


class _Function(nn.Module):
    """A loss without weights of its own, as a module like the others."""

    def __init__(self, function: Callable[[Tensor, Batch], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, vectors: Tensor, batch: Batch) -> Tensor:
        return self.function(vectors, batch)
