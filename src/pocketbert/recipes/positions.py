"""Teach an encoder to read longer texts than it was trained on.

    pocketbert train positions --model FOLDER --train_file texts.json --positions 384 --output_dir longer

An encoder with a table of 128 positions cannot see a 129th token. This recipe adds rows and trains nothing but them:
the encoder reads the same text twice, once at the start of the table and once shifted into the new rows, and the rows
learn to give the feature maps that the start gave. Expect the distance (`distance`, relative to the variance of each
feature map) to fall by a factor of three or more within a few hundred steps; fine-tuning on long windows does the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn

from pocketbert import hub
from pocketbert.errors import InputError
from pocketbert.heads import load, save
from pocketbert.model import Encoder
from pocketbert.model.config import TableConfig
from pocketbert.tasks.squad.reading import read_questions
from pocketbert.text import Tokenizer
from pocketbert.train.command import main
from pocketbert.train.fields import setting
from pocketbert.train.loop import train
from pocketbert.train.settings import LoopSettings
from pocketbert.train.together import processes


@dataclass(frozen=True, kw_only=True)
class Settings(LoopSettings):
    """What to stretch, how far, and on which texts."""

    model: str = setting(help="the encoder: a folder or a hub name")
    train_file: tuple[Path, ...] = setting(help="texts: SQuAD JSON (its paragraphs) or plain text files")
    positions: int = setting(384, help="rows that the table shall have")
    max_seq_length: int = setting(128, help="tokens of a text; fewer than the positions that are known")
    learning_rate: float = setting(5e-3, help="peak rate of the new rows")
    weight_decay: float = setting(0.0, help="decay of the new rows")
    per_device_train_batch_size: int = setting(16, help="texts in a batch on one device")
    eval_strategy: Literal["epoch", "steps", "no"] = setting(
        "no", help="nothing is evaluated: the distance is in the log"
    )


class Stretched(nn.Module):
    """A frozen encoder whose table of positions goes on in `rows`, the only weights that learn."""

    def __init__(self, encoder: Encoder, positions: int) -> None:
        super().__init__()
        config = encoder.config
        if not isinstance(config, TableConfig):
            raise InputError(
                f"{config.model_type} has no table of positions and reads any length; there is nothing to train"
            )
        known = config.max_position_embeddings
        if positions <= known:
            raise InputError(
                f"positions is {positions}, but the table has {known} rows already; ask for more"
            )
        self.encoder = encoder.requires_grad_(False)
        table = encoder.embeddings.get_parameter("position.weight").detach()
        # Rows of the second half again and again: neighbours start out as neighbours, and no row as the first ones,
        # which are special. The period is shorter than a text, so training sees, and breaks, the repetition.
        half = known // 2
        again = [half + number % (known - half) for number in range(positions - known)]
        self.rows = nn.Parameter(table[again].clone())
        self.first = config.first_position
        self.longest = config.longest

    def train(self, mode: bool = True) -> Stretched:
        """The encoder stays as it is, without dropout: it is the measure of the rows."""
        super().train(mode)
        self.encoder.eval()
        return self

    def table(self) -> Tensor:
        return torch.cat([self.encoder.embeddings.get_parameter("position.weight"), self.rows])

    def forward(self, ids: Tensor, shifts: Tensor) -> Tensor:
        """The mean squared distance between the feature maps in place and shifted, relative to their variance.

        Only the upper half of the blocks counts: below, a feature map is still partly its position, and two places of
        the known table, too, differ there.
        """
        places = torch.arange(ids.shape[1])
        shifted = self.first + places + shifts[:, None] * (places > 0)  # [CLS] stays where it always is
        table = {"embeddings.position.weight": self.table()}
        options = {"position_ids": shifted, "feature_maps": True}
        with torch.no_grad():
            expected = self.encoder(ids, feature_maps=True).feature_maps
        given = torch.func.functional_call(self.encoder, table, (ids,), options).feature_maps
        upper = len(expected) // 2
        distances = [
            (moved[:, 1:] - still[:, 1:]).square().mean() / still[:, 1:].var()
            for moved, still in zip(given[upper:], expected[upper:], strict=True)
        ]
        return torch.stack(distances).mean()


def run(settings: Settings) -> None:
    """Train the rows and write the longer encoder to output_dir."""
    source = hub.resolve(settings.model).folder
    encoder = load(source, head="none").eval()
    tokenizer = Tokenizer.load(source)
    model = Stretched(encoder, settings.positions)
    length = min(settings.max_seq_length, model.longest)
    texts = _texts(settings.train_file, tokenizer, length)
    most = settings.positions - model.first - length

    def collate(batch: list[list[int]]) -> tuple[Tensor, Tensor]:
        return torch.tensor(batch), torch.randint(1, most + 1, (len(batch),))

    def loss_function(
        model: nn.Module, batch: tuple[Tensor, Tensor], _step: int
    ) -> tuple[Tensor, dict[str, float]]:
        distance = model(*batch)
        return distance, {"distance": float(distance.detach())}

    train(
        model,
        examples=texts,
        lengths=[length] * len(texts),
        collate=collate,
        loss_function=loss_function,
        settings=settings,
        data_files=settings.train_file,
    )
    table = model.table().detach().clone()
    encoder.embeddings.position = nn.Embedding(settings.positions, table.shape[1], _weight=table)
    encoder.config = replace(encoder.config, max_position_embeddings=settings.positions)
    if processes().is_main_process:
        save(encoder, settings.output_dir)
        tokenizer.save(settings.output_dir, model_max_length=encoder.config.longest)


def _texts(files: tuple[Path, ...], tokenizer: Tokenizer, length: int) -> list[list[int]]:
    """All texts as one stream of tokens, cut into sequences of one length."""
    stream: list[int] = []
    for file in files:
        if file.suffix == ".json":
            paragraphs = list(
                dict.fromkeys(question.context for question in read_questions(file, on_bad="skip").questions)
            )
        else:
            paragraphs = [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
        for paragraph in paragraphs:
            stream += tokenizer.encode(paragraph, special=False).ids
    room = length - tokenizer.layout.special_tokens(1)
    sequences = [
        tokenizer.frame(stream[start : start + room]) for start in range(0, len(stream) - room + 1, room)
    ]
    if not sequences:
        raise InputError(f"the texts have {len(stream)} tokens together; {room} is the least to learn from")
    return sequences


if __name__ == "__main__":
    raise SystemExit(main(__file__, Settings, run))
