"""A lesson: the student reads a batch, and every loss that lives at this step says how far it is from its teacher.

The lesson is the module that is trained: the student, and the projection it needs only while it learns. Computing the
losses inside its forward pass lets every engine that wraps a module (DDP, FSDP) see all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pocketbert.errors import InputError
from pocketbert.heads import Model
from pocketbert.transfer import losses
from pocketbert.transfer.layers import LayerMap
from pocketbert.transfer.losses import Statistics
from pocketbert.transfer.schedule import WORD_LOSSES, Stage
from pocketbert.transfer.teacher import words_head
from pocketbert.transfer.views import VECTORS, View, Wanted, look


@dataclass(frozen=True, kw_only=True)
class Terms:
    """How teacher and student are compared, for the whole run."""

    layers: LayerMap
    teacher_blocks: int
    statistics: Statistics = "absolute"
    temperature: float = 1.0
    relation_heads: int = 1

    def __post_init__(self) -> None:
        """Refuse what nothing can be compared at."""
        if self.temperature <= 0:
            raise InputError(f"temperature is {self.temperature}; it must be above 0")

    def teaching(self, stage: Stage) -> Wanted:
        """What a stage needs to see of the teacher."""
        wanted = _wanted(stage, self.layers, self.teacher_blocks)
        soft = (
            {self.teacher_blocks} if "soft" in stage.losses else set()
        )  # its head is given the words' own places
        return wanted | Wanted(frozenset(soft))

    def learning(self, stage: Stage) -> Wanted:
        """What it needs to see of the student."""
        blocks = len(self.layers)
        return _wanted(stage, tuple(range(blocks)), blocks)


class Lesson(nn.Module):
    """A student that can be told how far it is from its teacher."""

    def __init__(self, student: Model, terms: Terms, projection: nn.Module | None = None) -> None:
        super().__init__()
        self.student = student
        self.projection = projection
        self.terms = terms

    def forward(
        self,
        batch: Mapping[str, Tensor],
        stage: Stage,
        taught: View | None = None,
        logits: Tensor | None = None,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The weighted sum of the stage's losses, and each of them; `logits` (B, P, V) are the teacher's.

        A batch has `positions` (B, P) of the words to guess and their `labels`, -100 where an example has fewer, and
        `sentence_labels` (B) if there is something to say of two sentences.
        """
        whole = stage.depth is None
        seen = look(self.student.encoder, batch, self.terms.learning(stage), whole=whole)
        parts: dict[str, Tensor] = {}
        for name in stage.losses:
            if name in _LAYER:
                values = [self._layer(name, number, seen, taught) for number in stage.layers]
                parts[name] = torch.stack(values).mean()
        blocks = len(self.terms.layers)
        if "embeddings" in stage.losses and taught is not None:
            parts["embeddings"] = losses.hidden(self.fit(seen.map(0)), taught.map(0), seen.mask)
        if "cosine" in stage.losses and taught is not None:
            last = taught.map(self.terms.teacher_blocks)
            parts["cosine"] = losses.cosine(self.fit(seen.map(blocks)), last, seen.mask)
        if any(name in stage.losses for name in WORD_LOSSES):
            parts |= self._words(batch, stage, seen, logits)
        total = torch.stack([stage.losses[name] * value for name, value in parts.items()]).sum()
        return total, {name: value.detach() for name, value in parts.items()}

    def _layer(self, name: str, number: int, seen: View, taught: View | None) -> Tensor:
        if taught is None:
            raise InputError(f"the loss {name!r} compares with a teacher, and there is none")
        source = self.terms.layers[number]
        if name == "attention":
            return losses.attention(seen.scores(number), taught.scores(source), seen.mask)
        if name == "scores":
            return losses.attention_scores(seen.scores(number), taught.scores(source), seen.mask)
        if name == "relations":
            return torch.stack(
                [
                    losses.relations(
                        seen.vectors(what, number),
                        taught.vectors(what, source),
                        seen.mask,
                        heads=self.terms.relation_heads,
                    )
                    for what in VECTORS
                ]
            ).sum()
        return _LAYER[name](
            self.fit(seen.map(number + 1)), taught.map(source + 1), seen.mask, self.terms.statistics
        )

    def fit(self, feature_map: Tensor) -> Tensor:
        """A feature map in the teacher's width."""
        if self.projection is None:
            return feature_map
        projected: Tensor = self.projection(feature_map)
        return projected

    def _words(
        self, batch: Mapping[str, Tensor], stage: Stage, seen: View, taught: Tensor | None
    ) -> dict[str, Tensor]:
        head, encoder, output = words_head(self.student), self.student.encoder, seen.output
        if head is None or output is None or "positions" not in batch:
            raise InputError(
                "this stage predicts words: it needs a masked-LM head and batches with positions"
            )
        found: dict[str, Tensor] = {}
        if "hard" in stage.losses or "soft" in stage.losses:
            labels = batch["labels"]
            logits = head(output, encoder.word_table, positions=batch["positions"]).logits
            if "hard" in stage.losses:
                found["hard"] = losses.hard_words(logits, labels)
            if "soft" in stage.losses:
                if taught is None:
                    raise InputError("soft labels are the teacher's, and there is none")
                found["soft"] = losses.soft_words(logits, taught, labels, self.terms.temperature)
        judge = getattr(self.student.head, "next_sentence", None) or getattr(
            self.student.head, "sentence_order", None
        )
        if "sentence" in stage.losses and "sentence_labels" in batch and judge is not None:
            found["sentence"] = judge(output, encoder.word_table, labels=batch["sentence_labels"]).loss
        return found


def pick(feature_map: Tensor, positions: Tensor) -> Tensor:
    """The vectors at some places: (B, S, W) and (B, P) -> (B, P, W)."""
    return feature_map.gather(1, positions.unsqueeze(-1).expand(-1, -1, feature_map.shape[-1]))


def _no_statistics(loss: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    return lambda student, teacher, mask, _statistics: loss(student, teacher, mask)


# Losses of a layer's feature map; those of its attention are told apart above and stand here for their names.
_LAYER: dict[str, Callable[..., Tensor]] = {
    "feature_map": _no_statistics(losses.feature_map),
    "mean": losses.mean,
    "variance": losses.variance,
    "hidden": _no_statistics(losses.hidden),
    "attention": losses.attention,
    "scores": losses.attention_scores,
    "relations": losses.relations,
}


def _wanted(stage: Stage, layers: LayerMap, blocks: int) -> Wanted:
    """What the losses of a stage look at, in a model of so many blocks whose `layers` are the student's."""
    live = [layers[number] for number in stage.layers]
    maps: set[int] = set()
    if any(name in stage.losses for name in ("feature_map", "mean", "variance", "hidden")):
        maps.update(block + 1 for block in live)
    if "embeddings" in stage.losses:
        maps.add(0)
    if "cosine" in stage.losses:
        maps.add(blocks)
    attentions = live if "attention" in stage.losses or "scores" in stage.losses else ()
    return Wanted(
        frozenset(maps), frozenset(attentions), frozenset(live if "relations" in stage.losses else ())
    )
