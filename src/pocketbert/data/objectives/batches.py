"""Examples to the tensors that a model takes.

Shapes: B batch, S sequence, P words to guess.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from pocketbert.data.objectives.examples import Array, Example
from pocketbert.data.objectives.masking import Masker
from pocketbert.text import Tokenizer
from pocketbert.text.encoding import pad

NOT_GUESSED = -100


def masked_batch(examples: Sequence[Example], tokenizer: Tokenizer, masker: Masker) -> dict[str, Tensor]:
    """Masked rows: `positions` (B, P) where words are hidden, and `labels` (B, P) with the words; -100 fills up.

    `sentence_labels` (B) are there when the examples have labels.
    """
    hidden = [masker(example.input_ids, example.random()) for example in examples]
    batch = padded([ids for ids, _ in hidden], examples, tokenizer)
    width = batch["input_ids"].shape[1]
    most = max(len(places) for _, places in hidden)
    positions = np.zeros((len(examples), most), dtype=np.int64)
    labels = np.full((len(examples), most), NOT_GUESSED, dtype=np.int64)
    for row, (example, (_, places)) in enumerate(zip(examples, hidden, strict=True)):
        shift = tokenizer.layout.place(len(example.input_ids), width).start
        positions[row, : len(places)] = places + shift
        labels[row, : len(places)] = example.input_ids[places]
    batch |= {"positions": torch.from_numpy(positions), "labels": torch.from_numpy(labels)}
    if examples[0].label is not None:
        batch["sentence_labels"] = torch.tensor([example.label for example in examples])
    return batch


def padded(ids: Sequence[Array], examples: Sequence[Example], tokenizer: Tokenizer) -> dict[str, Tensor]:
    """Rows of one length, padded as the tokenizer's layout says."""
    types = [example.token_type_ids.tolist() for example in examples]
    batch = pad([row.tolist() for row in ids], types, pad_id=tokenizer.pad_id, layout=tokenizer.layout)
    return {name: torch.from_numpy(array) for name, array in batch.arrays().items()}
