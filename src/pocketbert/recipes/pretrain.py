"""Pre-train an encoder on plain text, from scratch or from a checkpoint, with any objective of the family.

    pocketbert train tokenizer --train_file corpus --vocab_size 8192 --output_dir words
    pocketbert train pretrain --preset ib-bert-bench --train_file corpus --tokenizer words --output_dir teacher

The corpus is tokenised once into `tokens_dir`, in shards that later runs map again. Expect, for a bench preset on a
hundred megabytes of English, a masked-LM accuracy far above `unigram_accuracy`, the score of the most frequent word.
The output folder holds the model with its pre-training head, its tokenizer, scores.json and a model card.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from pocketbert import checkpoint, hub
from pocketbert.data.objectives import (
    HEADS,
    ObjectiveName,
    guessed,
    inputs_of,
    loss_of,
    score,
    unigram_baseline,
)
from pocketbert.errors import InputError
from pocketbert.heads import Model, build, load, save
from pocketbert.model import PRESETS, HeadKind, read_config
from pocketbert.recipes._plans import planned, words_of
from pocketbert.recipes._texts import (
    TextSettings,
    check_head,
    fresh_config,
    goal_of,
    known_config,
    learnt,
    prepared,
    to_learn_from,
    to_measure_by,
    tokens_folder,
)
from pocketbert.text import Tokenizer
from pocketbert.text.loading import PATTERNS
from pocketbert.train.card import write_card
from pocketbert.train.command import main
from pocketbert.train.fields import setting
from pocketbert.train.loop import train
from pocketbert.train.plan import Phase, Plan, forward_flops, word_flops
from pocketbert.train.seeds import seed_everything
from pocketbert.train.together import processes


@dataclass(frozen=True, kw_only=True)
class Settings(TextSettings):
    """What to train, and with which words."""

    model: str = setting(
        help="a preset or a config.json for fresh weights; a folder or a hub name to go on from"
    )
    tokenizer: str | None = setting(
        None, help="a folder with a tokenizer for fresh weights; none: BERT's uncased English"
    )
    num_train_epochs: float = setting(1.0, help="passes over the examples")
    learning_rate: float = setting(1e-4, help="peak rate")


def run(settings: Settings) -> dict[str, Any]:
    """Prepare the corpus, train, evaluate, and write the model to output_dir."""
    seed_everything(settings.seed)
    model, tokenizer = starting_point(
        settings.model, HEADS[settings.objective], settings.tokenizer, settings.objective
    )
    goal = goal_of(settings, tokenizer, model.config)
    tokens, held_out = prepared(settings, tokenizer)
    examples = to_learn_from(settings, goal, tokens)
    held_examples = to_measure_by(settings, goal, held_out)
    baseline = unigram_baseline(held_examples, goal, tokens.counts())

    def loss_function(
        learner: nn.Module, batch: dict[str, Tensor], _step: int
    ) -> tuple[Tensor, Mapping[str, float]]:
        return loss_of(learner(**inputs_of(batch)), batch)

    result = train(
        model,
        examples=examples,
        lengths=examples.lengths,
        collate=goal.collate,
        loss_function=loss_function,
        weight=guessed,
        settings=settings,
        evaluate=lambda learner: {**score(learner, held_examples, goal), **baseline},
        best="permutation_lm_loss" if goal.head == "permutation-lm" else "masked_lm_loss",
        greater_is_better=False,
        data_files=[tokens_folder(settings) / "index.json"],
        identity=learnt(settings),
    )
    report = getattr(model, "report", None)
    if processes().is_main_process:
        folder = settings.output_dir
        save(model, folder)
        tokenizer.save(folder, model_max_length=model.config.longest)
        checkpoint.write_json(folder / "scores.json", dict(result.scores))
        write_card(
            folder,
            task="fill-mask",
            settings=settings,
            scores=result.scores,
            evaluated_on="held-out text",
            base_model="" if report is None else settings.model,
        )
    anew = {"trained_anew": ", ".join(report.new)} if report is not None and report.new else {}
    return {**result.scores, **anew}


def starting_point(
    name: str, head: HeadKind, tokenizer: str | None, chosen: ObjectiveName
) -> tuple[Model, Tokenizer]:
    """A model with the head that an objective needs, and its tokenizer: fresh weights, or those of a checkpoint."""
    config = fresh_config(name)
    if config is not None:
        words = Tokenizer.load(None if tokenizer is None else _tokenizer_folder(tokenizer))
        config = replace(config, vocab_size=words.size, pad_token_id=words.pad_id)
        check_head(config, head, chosen)
        return build(config, head), words
    source = hub.resolve(name, presets=list(PRESETS)).folder
    words = Tokenizer.load(source)
    if (
        tokenizer is not None
        and Tokenizer.load(_tokenizer_folder(tokenizer)).fingerprint != words.fingerprint
    ):
        raise InputError(
            f"{name} has a tokenizer of its own, and its word table fits no other: leave out tokenizer={tokenizer}, or "
            "begin with fresh weights (a preset's name or a config.json as model)"
        )
    check_head(read_config(checkpoint.read_json(source / "config.json")), head, chosen)
    return load(source, head=head), words


def _tokenizer_folder(name: str) -> Path:
    return Path(name) if Path(name).exists() else hub.resolve(name, patterns=PATTERNS).folder


def plan(settings: Any) -> Plan:
    """What a run of max_steps takes."""
    if settings.max_steps is None:
        raise InputError(
            "a plan needs --max_steps: how many an epoch has is known only when the corpus has been read"
        )
    config = known_config(settings.model)
    if settings.tokenizer is not None:
        config = replace(config, vocab_size=Tokenizer.load(_tokenizer_folder(settings.tokenizer)).size)
    flops = forward_flops(config, length=settings.max_seq_length) + word_flops(config, words_of(settings))
    return planned(settings, [Phase("training", settings.max_steps, 3 * flops)], config)


if __name__ == "__main__":
    raise SystemExit(main(__file__, Settings, run))
