"""Texts to vectors with a model in torch, or with an exported encoder and the same pooling."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pocketbert import hub
from pocketbert.errors import InputError
from pocketbert.heads import Model, load_sentences
from pocketbert.heads.sentences import sentence_head
from pocketbert.model import EncoderOutput
from pocketbert.tasks.classify.features import Feature
from pocketbert.tasks.predict import Runner, batches, padded, reading
from pocketbert.tasks.sentences.texts import Texts
from pocketbert.text import Tokenizer
from pocketbert.text.sentence_config import SentenceConfig

Vectors = NDArray[np.float32]
Progress = Callable[[int], object]
BATCH_TOKENS = 4096


class TorchEmbedder:
    """A sentence model and its tokenizer: texts in, vectors out.

    embedder = TorchEmbedder.load("FOLDER")
    vectors = embedder.encode(["A text.", "Another."])    # (2, D)
    """

    def __init__(self, model: Model, tokenizer: Tokenizer, *, runner: Runner | None = None) -> None:
        """Take a model with a sentence head; a `runner` is its encoder exported, and reads in its place."""
        self.model, self.tokenizer, self.runner = model, tokenizer, runner
        self.config: SentenceConfig = sentence_head(model).config

    @classmethod
    def load(cls, name_or_folder: str | Path) -> TorchEmbedder:
        """A sentence-transformers folder, one of ours, or any encoder."""
        folder = hub.resolve(name_or_folder).folder
        return cls(load_sentences(folder), Tokenizer.load(folder))

    @property
    def dimensions(self) -> int:
        return self.config.dimensions

    @property
    def longest(self) -> int:
        """How many tokens of a text are read."""
        most = self.model.config.at_most(self.config.max_seq_length or 512)
        return int(most)

    def encode(
        self, texts: Iterable[str], *, prompt_name: str | None = None, progress: Progress | None = None
    ) -> Vectors:
        """The vectors (N, D) of texts; `prompt_name` is one of the config's prompts, put before each."""
        return self.read(self.pack(texts, prompt_name=prompt_name), progress=progress)

    def pack(self, texts: Iterable[str], *, prompt_name: str | None = None) -> Texts:
        """Texts as tokens, behind a prompt of the config: the one that is named, else its own default if it has one."""
        name = prompt_name if prompt_name is not None else self.config.default_prompt
        if name is not None and name not in self.config.prompts:
            known = ", ".join(self.config.prompts) or "it has none"
            raise InputError(f"the model has no prompt {name!r}; its prompts: {known}")
        before = "" if name is None else self.config.prompts[name]
        return Texts.pack(
            (before + text for text in texts),
            self.tokenizer,
            max_length=self.longest,
            lower_case=self.config.lower_case,
        )

    def read(self, texts: Sequence[Feature], *, progress: Progress | None = None) -> Vectors:
        """The vectors of texts that are tokens already."""
        pad_id = self.tokenizer.pad_id
        if self.runner is None:
            return vectors_of(self.model, texts, self.dimensions, pad_id=pad_id, progress=progress)
        exported = _Exported(self.runner, self.model.head)
        return vectors_of(exported, texts, self.dimensions, pad_id=pad_id, progress=progress)


def vectors_of(
    model: nn.Module | Runner,
    texts: Sequence[Feature],
    dimensions: int,
    *,
    pad_id: int = 0,
    batch_tokens: int = BATCH_TOKENS,
    progress: Progress | None = None,
) -> Vectors:
    """What a sentence model says of every text (N, D), read in batches of like length."""
    found = np.empty((len(texts), dimensions), dtype=np.float32)
    with reading(model, ("vectors",)) as read:
        for numbers in batches([len(text) for text in texts], batch_tokens):
            found[numbers] = read(padded([texts[number] for number in numbers], pad_id=pad_id)[0])[0]
            if progress is not None:
                progress(len(numbers))
    return found


class _Exported:
    """An exported encoder with a sentence head behind it."""

    def __init__(self, runner: Runner, head: nn.Module) -> None:
        self.runner, self.head = runner, head

    def run(
        self,
        input_ids: NDArray[np.int64],
        attention_mask: NDArray[np.int64],
        token_type_ids: NDArray[np.int64],
    ) -> dict[str, Vectors]:
        found = self.runner.run(input_ids, attention_mask, token_type_ids)
        if "last_hidden_state" not in found:
            raise InputError(
                f"the exported model gives {', '.join(found)}; an encoder gives last_hidden_state: export it with "
                "--head none"
            )
        last: Tensor = torch.from_numpy(np.asarray(found["last_hidden_state"], dtype=np.float32))
        with torch.inference_mode():
            output = EncoderOutput(last=last, mask=torch.from_numpy(attention_mask))
            return {"vectors": self.head(output, last).vectors.numpy()}
