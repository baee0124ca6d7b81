"""How far vectors are from what they should say: one function a loss, with its formula and its data.

Every loss takes the vectors of a batch as (C, B, D): C texts in a row of the table (anchor, positive, …), B rows, D
dimensions; and is a mean over the rows. Vectors may have any length: what is compared is the cosine, unless it says
otherwise. cos(u, v) stands for u·v / |u||v|.

Losses that compare the rows of a batch with one another (ranking, cosent) see more in a larger batch, and two small
batches are not one large one. For large ones see `lesson.SentenceLesson(chunk=…)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def cosine_regression(vectors: Tensor, scores: Tensor) -> Tensor:
    """(cos(u, v) - y)²: pairs with a score y from -1 to 1 (Sentence-BERT, arXiv 1908.10084, section 3).

    Rows: sentence1, sentence2, score.
    """
    u, v = vectors
    return F.mse_loss(F.cosine_similarity(u, v), scores)


def cosent(vectors: Tensor, scores: Tensor, *, scale: float = 20.0) -> Tensor:
    """log(1 + Σ exp(s (cos_j - cos_i))) over all i, j with y_i > y_j: a pair that is more alike comes before one less.

    Only the order of scores counts, as in a rank correlation (CoSENT, Su 2022, kexue.fm/archives/8847).
    Rows: sentence1, sentence2, score, in any unit.
    """
    u, v = vectors
    cosines = scale * F.cosine_similarity(u, v)  # (B)
    gaps = cosines[None, :] - cosines[:, None]  # (B, B): how far j is above i
    wrong_way = scores[:, None] > scores[None, :]  # i is to be above j
    exponents = gaps.masked_fill(~wrong_way, -torch.inf).flatten()
    return torch.cat([exponents.new_zeros(1), exponents]).logsumexp(0)


def contrastive(vectors: Tensor, labels: Tensor, *, margin: float = 0.5) -> Tensor:
    """½ (y d² + (1 - y) max(0, m - d)²), d = 1 - cos(u, v): alike is drawn together, unlike is pushed m apart.

    Hadsell et al. 2006. Rows: sentence1, sentence2, label: 1 alike, 0 not.
    """
    u, v = vectors
    distances = 1 - F.cosine_similarity(u, v)  # (B)
    alike, unlike = distances.square(), (margin - distances).relu().square()
    return 0.5 * (labels * alike + (1 - labels) * unlike).mean()


def triplet(vectors: Tensor, *, margin: float = 1.0) -> Tensor:
    """max(0, |a - p| - |a - n| + m): the positive is nearer to the anchor than the negative, by m or more.

    Sentence-BERT, section 3, with its Euclidean distance and m = 1. Rows: anchor, positive, negative.
    """
    anchor, positive, negative = vectors
    near, far = (anchor - positive).norm(dim=-1), (anchor - negative).norm(dim=-1)
    return F.relu(near - far + margin).mean()


def ranking(vectors: Tensor, *, scale: float = 20.0, numbers: Tensor | None = None) -> Tensor:
    """-log softmax_i(s cos(a_i, c_·)): the own positive comes first among all positives and negatives of the batch.

    Multiple negatives ranking (arXiv 1705.00652, section 4.4), which is InfoNCE with the temperature 1/s. Rows: anchor,
    positive, and any number of hard negatives. `numbers` (C, B) tell texts apart: what is the same text as the own
    positive, or a positive of the same anchor, is no negative.
    """
    anchors, candidates = vectors[0], vectors[1:].flatten(0, 1)  # (B, D), ((C - 1) B, D)
    logits = scale * F.normalize(anchors, dim=-1) @ F.normalize(candidates, dim=-1).T  # (B, (C - 1) B)
    rows = torch.arange(len(anchors), device=logits.device)
    if numbers is not None:
        same = numbers[1][:, None] == numbers[1:].flatten()[None, :]  # (B, (C - 1) B)
        same[:, : len(anchors)] |= numbers[0][:, None] == numbers[0][None, :]
        same[rows, rows] = False
        logits = logits.masked_fill(same, -torch.inf)
    return F.cross_entropy(logits, rows)


class SoftmaxLoss(nn.Module):
    """-log softmax(W_u u + W_v v + W_d |u - v| + b)_y: pairs with one of L labels (Sentence-BERT, section 3).

    The layer learns along and is left behind. Rows: sentence1, sentence2, label; made for natural language inference.
    """

    def __init__(self, dimensions: int, labels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(labels, 3, dimensions))
        self.bias = nn.Parameter(torch.zeros(labels))
        nn.init.normal_(self.weight, std=(3 * dimensions) ** -0.5)

    def logits(self, vectors: Tensor) -> Tensor:
        """(2, B, D') to (B, L); of fewer dimensions than the layer has, it uses the first."""
        u, v = vectors
        features = torch.stack([u, v, (u - v).abs()], dim=1)  # (B, 3, D')
        return torch.einsum("bfd,lfd->bl", features, self.weight[:, :, : features.shape[-1]]) + self.bias

    def forward(self, vectors: Tensor, batch: Mapping[str, Any]) -> Tensor:
        return F.cross_entropy(self.logits(vectors), batch["labels"])


def distance(vectors: Tensor, taught: Tensor) -> Tensor:
    """|u - t|² of student and teacher: the mean squared error, summed over the dimensions (arXiv 2004.09813).

    For vectors of length one it is 2 - 2 cos(u, t). Rows: text; the teacher gives `taught` (B, D).
    """
    return (vectors[0] - taught).square().sum(dim=-1).mean()


def angle(vectors: Tensor, taught: Tensor) -> Tensor:
    """1 - cos(u, t) of student and teacher, for those whose vectors have different lengths. Rows: text."""
    return (1 - F.cosine_similarity(vectors[0], taught)).mean()


class TaughtLoss(nn.Module):
    """A teacher's vectors compared with the model's, through a layer that learns along where dimensions differ."""

    def __init__(
        self, compare: Callable[[Tensor, Tensor], Tensor], dimensions: int, taught_dimensions: int
    ) -> None:
        super().__init__()
        self.compare = compare
        different = dimensions != taught_dimensions
        self.projection = nn.Linear(dimensions, taught_dimensions) if different else None

    def forward(self, vectors: Tensor, batch: Mapping[str, Any]) -> Tensor:
        fitted = vectors if self.projection is None else self.projection(vectors)
        return self.compare(fitted, batch["taught"])
