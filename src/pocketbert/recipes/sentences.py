"""Train sentence vectors: from pairs, triplets, labels or scores, or from a teacher's vectors of plain sentences.

    pocketbert train sentences pairs.csv --loss ranking --preset mobilebert --model FOLDER --output_dir embedder
    pocketbert train sentences sentences.txt --loss distill --teacher all-MiniLM-L6-v2 --dimensions 384 \
        --preset student --model FOLDER --output_dir embedder

ranking takes anchor, positive and perhaps negative; triplet all three; cosent and cosine take sentence1, sentence2 and
score; softmax and contrastive take them with a label. The output is a folder that sentence-transformers loads as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from pocketbert import checkpoint, hub
from pocketbert.data.sentences import SentenceLesson
from pocketbert.errors import InputError
from pocketbert.heads import load_sentences, save_sentences
from pocketbert.model import read_config
from pocketbert.recipes._sentence_lessons import frozen_pooler, lessons_of
from pocketbert.recipes._sentence_settings import SentenceVectorSettings
from pocketbert.tasks.sentences.predict import TorchEmbedder
from pocketbert.text import Tokenizer
from pocketbert.text.sentence_config import Dense, SentenceConfig, read_sentence_config
from pocketbert.train import state
from pocketbert.train.card import write_card
from pocketbert.train.command import main
from pocketbert.train.loop import train
from pocketbert.train.lora import add_lora, merge_lora
from pocketbert.train.seeds import seed_everything
from pocketbert.train.together import processes
from pocketbert.train.trials.run import searchable


@dataclass(frozen=True, kw_only=True)
class Settings(SentenceVectorSettings):
    """All settings of the recipe; `_sentence_settings` explains them."""


@searchable
def run(settings: Settings) -> dict[str, float]:
    """Train, evaluate, and write the model to output_dir."""
    seed_everything(settings.seed)  # a new Dense layer is drawn before the loop begins
    source = hub.resolve(settings.model).folder
    model = load_sentences(source, config=sentence_config(settings, source))
    embedder = TorchEmbedder(model, Tokenizer.load(source))
    lessons = lessons_of(settings, embedder)
    lesson = SentenceLesson(
        model,
        lessons.loss,
        chunk=settings.gradient_cache_size,
        matryoshka=_sizes(settings, embedder.dimensions),
    )
    adapted = add_lora(model, settings)
    frozen_pooler(model)
    if adapted:  # the loop keeps what the lesson does not hold, and only the model knows what that is
        held = [name for name, weight in lesson.named_parameters() if not weight.requires_grad]
        state.hold(lesson, held)

    def objective(module: nn.Module, batch: dict[str, Any], _step: int) -> tuple[Tensor, Mapping[str, float]]:
        loss, parts = module(batch)
        return loss, {name: float(value) for name, value in parts.items()}

    def evaluate(judged: nn.Module) -> Mapping[str, float]:
        assert isinstance(judged, SentenceLesson)  # noqa: S101 - the loop gives back what it was given
        return lessons.measure(judged, TorchEmbedder(judged.model, embedder.tokenizer))

    result = train(
        lesson,
        examples=lessons.examples,
        lengths=lessons.lengths,
        collate=lessons.collate,
        loss_function=objective,
        settings=settings,
        evaluate=evaluate,
        best=lessons.best,
        data_files=[
            Path(name) for name in settings.train_file + settings.validation_file if Path(name).is_file()
        ],
        identity={**lessons.identity, **adapted},
    )
    merge_lora(model, settings)
    if processes().is_main_process:
        folder = settings.output_dir
        save_sentences(model, folder)
        embedder.tokenizer.save(folder, model_max_length=embedder.longest)
        checkpoint.write_json(folder / "scores.json", dict(result.scores))
        write_card(
            folder,
            task="sentence-similarity",
            settings=settings,
            scores=result.scores,
            text=f"{_described(embedder.config)} {lessons.text}",
            tags=["sentence-transformers", "feature-extraction"],
        )
    return dict(result.scores)


def sentence_config(settings: Settings, source: Path) -> SentenceConfig:
    """What vectors are to be made of: as the model has it, with what the settings say."""
    saved = read_sentence_config(source)
    encoder = read_config(checkpoint.read_json(source / "config.json"))
    width = encoder.hidden_size
    before = saved or SentenceConfig(dimensions=width)
    dense = before.dense
    if settings.dimensions is not None and (settings.dimensions != before.dimensions or dense is not None):
        dense = Dense(width, settings.dimensions, activation=settings.dense_activation)
    return SentenceConfig(
        dimensions=width if dense is None else dense.out_features,
        pooling=before.pooling if settings.pooling == "auto" else settings.pooling,
        normalize=before.normalize if settings.normalize == "auto" else settings.normalize == "yes",
        max_seq_length=encoder.at_most(settings.max_seq_length),
        dense=dense,
        prompts=before.prompts,
        default_prompt=before.default_prompt,
        similarity=before.similarity,
        lower_case=before.lower_case,
    )


def _sizes(settings: Settings, dimensions: int) -> tuple[int, ...]:
    """The sizes that are learnt; the whole vector is always one of them."""
    sizes = settings.matryoshka_dimensions
    if any(size > dimensions for size in sizes):
        raise InputError(f"matryoshka_dimensions = {max(sizes)}, but a vector has {dimensions}: give fewer")
    return tuple(sorted({*sizes, dimensions}, reverse=True)) if sizes else ()


def _described(config: SentenceConfig) -> str:
    length = "of length one" if config.normalize else "of any length"
    return (
        f"It gives a vector of {config.dimensions} numbers, {length}, for a text of up to {config.max_seq_length} "
        f"tokens (pooling: {config.pooling}), and loads in sentence-transformers as it is."
    )


if __name__ == "__main__":
    raise SystemExit(main(__file__, Settings, run))
