"""What recipes that learn from plain text share: settings, the corpus, the objective, a model to begin with."""

from __future__ import annotations

import hashlib
import json
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pocketbert import checkpoint, hub
from pocketbert.checkpoint.files import replacing
from pocketbert.data.corpus import Format, Progress, Tokens, open_corpus, prepare
from pocketbert.data.objectives import HEADS, Examples, Masking, Objective, ObjectiveName, Plan, objective
from pocketbert.errors import CheckpointError, InputError
from pocketbert.model import PRESETS, Config, HeadKind, architecture, preset, read_config
from pocketbert.text import Tokenizer
from pocketbert.train.fields import setting
from pocketbert.train.settings import LoopSettings
from pocketbert.train.together import main_first

HELD_OUT = 0
"""The seed of what is held out, and of what is hidden there. It is nobody's setting: runs of all seeds are measured by
the same words, and a student with its teacher's corpus and validation_split by none that its teacher learnt from."""

PLANNING = 1
"""The version of how examples are planned: kept plans of another one are not used."""


@dataclass(frozen=True, kw_only=True)
class TextSettings(LoopSettings):
    """Which texts, and what is learnt from them."""

    train_file: tuple[str, ...] = setting(help="files, folders or patterns of text, or a set of the hub")
    validation_file: tuple[str, ...] = setting(
        (), help="the same to evaluate on; none: some documents are held out"
    )
    validation_split: float = setting(
        0.01, help="share of the documents to hold out without a validation_file"
    )
    format: Format = setting("auto", help="how the texts are written")  # noqa: RUF009
    text_field: str = setting("text", help="the field with the text in JSON lines, Parquet and hub sets")
    split: str = setting("train", help="the part of a hub set")
    tokens_dir: Path | None = setting(  # noqa: RUF009
        None, help="folder for the tokenised corpus; none: in output_dir"
    )
    preprocessing_num_workers: int = setting(1, help="processes that tokenise")
    objective: ObjectiveName = setting(  # noqa: RUF009
        "bert", help="what to learn: as BERT, RoBERTa, ALBERT, DistilBERT or XLNet"
    )
    max_seq_length: int = setting(128, help="tokens of a sequence, special ones included")
    mlm_probability: float = setting(0.15, help="share of the tokens to guess; permutation has one in six")
    max_predictions_per_seq: int | None = setting(None, help="tokens of a sequence to guess at most")
    whole_word_mask: bool = setting(False, help="mask all tokens of a word or none", flag_value="true")
    short_seq_prob: float = setting(0.1, help="share of the pairs that are shorter by chance")
    dupe_factor: int = setting(1, help="passes over the corpus, with pairs of their own, that make an epoch")
    max_train_samples: int | None = setting(
        None, help="learn from this many sequences at most, from all over the corpus"
    )
    max_eval_samples: int = setting(2000, help="evaluate on this many sequences at most")

    def __post_init__(self) -> None:
        """Refuse what no run can use."""
        super().__post_init__()
        for name in ("preprocessing_num_workers", "dupe_factor", "max_train_samples", "max_eval_samples"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise InputError(f"{name} = {getattr(self, name)}: must be 1 or more")
        if not self.validation_file and not 0 < self.validation_split < 1:
            raise InputError(
                f"validation_split = {self.validation_split}: must lie between 0 and 1, or name a validation_file"
            )
        if self.objective == "permutation" and self.whole_word_mask:
            raise InputError(
                "whole_word_mask goes with objectives that mask; permutation guesses runs of tokens: leave it out"
            )
        if self.objective == "permutation" and self.max_predictions_per_seq is not None:
            raise InputError(
                f"max_predictions_per_seq = {self.max_predictions_per_seq}: permutation guesses one token in six, "
                "however many that are: leave it out"
            )


def learnt(settings: TextSettings) -> dict[str, Any]:
    """What is learnt from which corpus: a run that is resumed with something else would be another one."""
    names = ("objective", "max_seq_length", "mlm_probability", "max_predictions_per_seq", "whole_word_mask")
    index = json.loads((tokens_folder(settings) / "index.json").read_text(encoding="utf-8"))
    # The names of files are not part of it: a corpus that has moved is the same corpus. `texts` has the hashes.
    del index["sources"]
    return {
        **{name: getattr(settings, name) for name in (*names, "short_seq_prob", "dupe_factor")},
        "corpus": hashlib.sha256(json.dumps(index, sort_keys=True).encode()).hexdigest()[:16],
    }


def goal_of(settings: TextSettings, tokenizer: Tokenizer, config: Config) -> Objective:
    """The objective that the settings ask for, in sequences that the encoder can read."""
    check_segments(settings.objective, tokenizer, config)
    return objective(
        settings.objective,
        tokenizer,
        length=checked_length(settings.max_seq_length, config),
        masking=Masking(
            share=settings.mlm_probability,
            most=settings.max_predictions_per_seq,
            whole_words=settings.whole_word_mask,
        ),
        short=settings.short_seq_prob,
    )


def prepared(settings: TextSettings, tokenizer: Tokenizer) -> tuple[Tokens, Tokens]:
    """The corpus to train on and the one to evaluate on, tokenised; no document is in both."""
    reading: dict[str, Any] = {"format": settings.format, "field": settings.text_field}
    making: dict[str, Any] = {"workers": settings.preprocessing_num_workers, "progress": _show}
    # In a folder of their own, tokens may be those of other runs.
    begins = settings.overwrite_output_dir and settings.resume_from_checkpoint is None
    making["overwrite"] = begins and settings.tokens_dir is None
    folder = tokens_folder(settings)
    with main_first():  # the others find it done
        corpus = open_corpus(settings.train_file, split=settings.split, **reading)
        tokens = prepare(corpus, tokenizer, folder, **making)
        if not settings.validation_file:
            return tokens.split(settings.validation_split, seed=HELD_OUT, least=2)  # for pairs of two
        other = open_corpus(settings.validation_file, split=settings.split, **reading)
        return tokens, prepare(other, tokenizer, folder / "validation", **making)


def to_learn_from(settings: TextSettings, goal: Objective, tokens: Tokens) -> Examples:
    """The examples of an epoch, in the order of the corpus.

    Which tokens make each of them is planned once and kept beside the tokens: for a large corpus that takes long, and
    every process would hold a plan of its own.
    """
    making: dict[str, Any] = {"seed": settings.seed, "passes": settings.dupe_factor}
    file = tokens_folder(settings) / "examples" / f"{_plan_code(settings)}.npy"
    with main_first():
        rows = _kept_rows(file)
        if rows is None:
            rows = goal.examples(tokens, **making).rows
            _keep_rows(file, rows)
    examples = goal.examples(tokens, **making, rows=rows)
    return examples if settings.max_train_samples is None else examples.spread(settings.max_train_samples)


def to_measure_by(settings: TextSettings, goal: Objective, held_out: Tokens) -> Examples:
    """The held-out examples, the same ones for every seed."""
    return goal.examples(held_out, seed=HELD_OUT)[: settings.max_eval_samples]


def _plan_code(settings: TextSettings) -> str:
    """What the plan of the examples follows from, as a short hash; masks are not part of it."""
    about = learnt(settings)
    names = ("objective", "max_seq_length", "short_seq_prob", "dupe_factor", "corpus")
    held_out = None if settings.validation_file else settings.validation_split
    code = json.dumps([PLANNING, settings.seed, held_out, *(about[name] for name in names)])
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def _kept_rows(file: Path) -> Plan | None:
    try:
        rows: Plan = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):  # not there, or damaged: then it is planned again
        return None
    return rows


def _keep_rows(file: Path, rows: Plan) -> None:
    # Into a folder of tokens that may only be read nothing is kept, and the next run plans again.
    with suppress(CheckpointError), replacing(file.parent) as stage, stage(file.name) as stream:
        np.save(stream, rows)


def tokens_folder(settings: TextSettings) -> Path:
    """Where the tokenised corpus lies."""
    return settings.tokens_dir or settings.output_dir / "tokens"


def checked_length(length: int, config: Config) -> int:
    """The length of a sequence, if the encoder has so many positions."""
    if config.at_most(length) < length:
        raise InputError(
            f"max_seq_length = {length}, but the encoder has {config.longest} positions: give at most so many, or "
            "more positions first (pocketbert train positions)"
        )
    return length


def check_segments(chosen: ObjectiveName, tokenizer: Tokenizer, config: Config) -> None:
    """Refuse a tokenizer that tells more segments apart than the encoder has rows for."""
    layout, rows = tokenizer.layout, getattr(config, "type_vocab_size", None)
    second = 1 if chosen in ("bert", "sentence-order") else None
    highest = max(*layout.types(1, second), layout.padding_type)
    if rows is not None and highest >= rows:
        raise InputError(
            f"the tokenizer marks segments up to {highest}, but the encoder's table ends at {rows - 1}: use a "
            f"tokenizer made for {architecture(config.model_type).classes} models, or a config with type_vocab_size = "
            f"{highest + 1}"
        )


def fresh_config(name: str) -> Config | None:
    """The config that a preset or a config.json names; None for what has weights of its own."""
    if Path(name).is_dir():
        return None
    if Path(name).is_file():
        return read_config(checkpoint.read_json(Path(name)))
    return preset(name) if name in PRESETS else None


def known_config(name: str) -> Config:
    """The config of a preset, a config.json, a folder or a hub name, without any weights."""
    config = fresh_config(name)
    if config is None:
        folder = hub.resolve(name, presets=list(PRESETS)).folder
        config = read_config(checkpoint.read_json(folder / "config.json"))
    return config


def check_head(config: Config, head: HeadKind, chosen: ObjectiveName) -> None:
    """Refuse an objective that an architecture has no head for."""
    family = architecture(config.model_type)
    if head not in family.heads:
        fitting = ", ".join(name for name, needed in HEADS.items() if needed in family.heads)
        raise InputError(
            f"objective = {chosen}: a {family.classes} model has no head for it; it can learn by {fitting}"
        )


def _show(progress: Progress) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(
            f"\r\x1b[2Ktokenising: {progress.documents:,} documents, {progress.characters / 1e6:,.0f} M characters"
        )
        sys.stderr.flush()
