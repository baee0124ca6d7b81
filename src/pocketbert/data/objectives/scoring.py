"""How well a model guesses words of texts it never saw, beside one that only knows how frequent each word is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import nn

from pocketbert.data.objectives.batches import NOT_GUESSED
from pocketbert.data.objectives.examples import Example, Examples
from pocketbert.data.objectives.losses import inputs_of, sentence_logits, word_logits
from pocketbert.data.objectives.naming import Objective


@torch.no_grad()
def score(
    model: nn.Module, examples: Examples, objective: Objective, *, batch_size: int = 64
) -> dict[str, float]:
    """`<task>_accuracy` and `<task>_loss` over all words to guess, and `sentence_accuracy` where there are pairs.

    The masks are those of the examples' own epoch, so that two models, or two steps, are asked the same.
    """
    device = next(model.parameters()).device
    loss = right = words = pairs = pairs_right = 0.0
    order = np.argsort(examples.lengths, kind="stable")
    for start in range(0, len(order), batch_size):
        chosen: Sequence[Example] = [examples[int(number)] for number in order[start : start + batch_size]]
        batch = {name: value.to(device) for name, value in objective.collate(chosen).items()}
        output = model(**inputs_of(batch))
        logits, labels = word_logits(output), batch["labels"]
        loss += float(
            F.cross_entropy(
                logits.flatten(0, 1).float(), labels.flatten(), ignore_index=NOT_GUESSED, reduction="sum"
            )
        )
        right += int((logits.argmax(-1) == labels).sum())
        words += int((labels != NOT_GUESSED).sum())
        if "sentence_labels" in batch:
            pairs += len(chosen)
            pairs_right += int((sentence_logits(output).argmax(-1) == batch["sentence_labels"]).sum())
    task = objective.head.replace("pretraining", "masked-lm").replace("-", "_")
    scores = {f"{task}_accuracy": right / words, f"{task}_loss": loss / words}
    return scores | ({"sentence_accuracy": pairs_right / pairs} if pairs else {})


def unigram_baseline(
    examples: Examples, objective: Objective, counts: NDArray[np.int64], *, batch_size: int = 64
) -> dict[str, float]:
    """`unigram_accuracy` and `unigram_loss`: always the most frequent word, and every word by its frequency.

    `counts` are those of the texts that were trained on, with one more for every word, so that none is impossible.
    """
    weights = np.log((counts + 1) / (counts.sum() + len(counts)))
    found = []
    for start in range(0, len(examples), batch_size):
        chosen = [examples[number] for number in range(start, min(start + batch_size, len(examples)))]
        labels = objective.collate(chosen)["labels"].numpy()
        found.append(labels[labels != NOT_GUESSED])
    words = np.concatenate(found)
    return {
        "unigram_accuracy": float((words == counts.argmax()).mean()),
        "unigram_loss": float(-weights[words].mean()),
    }
