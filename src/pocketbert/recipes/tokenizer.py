"""Learn a tokenizer from texts, for another language or for a domain with words of its own.

    pocketbert train tokenizer --train_file corpus --vocab_size 16000 --output_dir words

The folder holds the tokenizer as every model folder does; give it to `pocketbert train pretrain --tokenizer words`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pocketbert.data.corpus import Format, open_corpus
from pocketbert.errors import InputError, check_folder
from pocketbert.text.learning import TokenizerKind, learn_tokenizer
from pocketbert.train.command import main
from pocketbert.train.fields import setting

_SAMPLE = 2000  # sentences to count tokens in


@dataclass(frozen=True, kw_only=True)
class Settings:
    """From which texts, and what kind of tokenizer."""

    train_file: tuple[str, ...] = setting(help="files, folders or patterns of text, or a set of the hub")
    output_dir: Path = setting(help="folder for the tokenizer")  # noqa: RUF009
    overwrite_output_dir: bool = setting(False, help="replace a tokenizer in output_dir", flag_value="true")
    kind: TokenizerKind = setting(  # noqa: RUF009
        "wordpiece", help="as BERT's, RoBERTa's, ALBERT's or XLNet's"
    )
    vocab_size: int = setting(30522, help="words at most, special tokens included")
    lowercase: bool = setting(True, help="read texts in lower case (not bpe)")
    keep_accents: bool = setting(False, help="do not drop accents with the case", flag_value="true")
    alphabet: int = setting(1000, help="single characters at most (wordpiece)")
    format: Format = setting("auto", help="how the texts are written")  # noqa: RUF009
    text_field: str = setting("text", help="the field with the text in JSON lines, Parquet and hub sets")
    split: str = setting("train", help="the part of a hub set")


def run(settings: Settings) -> dict[str, Any]:
    """Learn the tokenizer and write it to output_dir."""
    folder = settings.output_dir
    check_folder(folder)
    if (folder / "tokenizer.json").exists() and not settings.overwrite_output_dir:
        raise InputError(
            f"{folder} holds a tokenizer already: choose another --output_dir, or add --overwrite_output_dir"
        )
    texts = open_corpus(
        settings.train_file, settings.format, field=settings.text_field, split=settings.split
    ).texts()
    tokenizer = learn_tokenizer(
        texts,
        kind=settings.kind,
        size=settings.vocab_size,
        lowercase=settings.lowercase,
        keep_accents=settings.keep_accents,
        alphabet=settings.alphabet,
    )
    tokenizer.save(folder)
    sample = [sentence for _, sentence in zip(range(_SAMPLE), texts, strict=False)]
    tokens = [token for sentence in sample for token, _ in tokenizer.stream(sentence)]
    words = sum(len(sentence.split()) for sentence in sample)
    return {
        "words": tokenizer.size,
        "tokens_per_word": round(len(tokens) / max(1, words), 3),
        "unknown": round(tokens.count(tokenizer.unk_id) / max(1, len(tokens)), 5),
    }


if __name__ == "__main__":
    raise SystemExit(main(__file__, Settings, run))
