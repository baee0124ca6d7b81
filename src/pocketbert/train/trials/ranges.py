"""Which settings to search, per architecture: the ranges that the authors recommend, and where they do.

Written as `--search_space` is: `a,b,c` are values, `low:high` is a range, `low:high:step` has steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Ranges:
    """The ranges of batch, rate and epochs, and their source."""

    batch: str
    rate: str
    epochs: str
    source: str

    @property
    def settings(self) -> dict[str, str]:
        """The ranges by the names of the settings."""
        return {
            "learning_rate": self.rate,
            "per_device_train_batch_size": self.batch,
            "num_train_epochs": self.epochs,
        }


BERT = Ranges(
    batch="16,32",
    rate="2e-5,3e-5,5e-5",
    epochs="2,3,4",
    source="BERT (arXiv 1810.04805, appendix A.3)",
)
MOBILEBERT = Ranges(
    batch="16,32,48",
    rate="1e-5:1e-4",
    epochs="2:10:1",
    source="MobileBERT (arXiv 2004.02984)",
)
# Ten epochs and the best of them: early stopping, which the loop's best weights are.
ROBERTA = Ranges(
    batch="16,32",
    rate="1e-5,2e-5,3e-5",
    epochs="10",
    source="RoBERTa (arXiv 1907.11692, section 5.1)",
)
# What is trained with LoRA begins at nothing, and wants a rate ten times as high and more epochs.
LORA = Ranges(
    batch="16,32",
    rate="3e-4:5e-4",
    epochs="10:30:10",
    source="LoRA's authors for RoBERTa (github.com/microsoft/LoRA, examples/NLU)",
)

# By the config's model_type; the authors of the others name no ranges, and theirs are relatives of BERT.
RANGES: Mapping[str, Ranges] = {"bert": BERT, "mobilebert": MOBILEBERT, "roberta": ROBERTA}
OTHERS = BERT


def recommended(model_type: str, *, lora: bool) -> Ranges:
    """The ranges for an architecture."""
    return LORA if lora else RANGES.get(model_type, OTHERS)
