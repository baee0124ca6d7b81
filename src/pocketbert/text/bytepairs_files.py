"""Byte-level BPE files: tokenizer.json, vocab.json with merges.txt, tokenizer_config.json; to settings and back."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pocketbert.errors import TokenizerError
from pocketbert.text.bytepairs import BytePairs, Pair, default_roles
from pocketbert.text.files import write_json, write_text
from pocketbert.text.json_fields import (
    Fields,
    added_tokens,
    base_size,
    config_roles,
    config_tokens,
    expect,
    get,
    get_object,
    json_roles,
    post_processor,
    read_vocabulary,
    short,
)
from pocketbert.text.layout import ROBERTA, read_layout

WHAT = "a byte-level BPE tokenizer of the RoBERTa family"


def from_tokenizer_json(data: Fields, config: Fields) -> BytePairs:
    """Settings from a tokenizer.json; what tokenizer_config.json says besides wins, as in transformers."""
    model = get_object(data, "model")
    expect(data, "normalizer", None, what=WHAT)
    cutter = get_object(data, "pre_tokenizer")
    expect(cutter, "type", "ByteLevel", what=WHAT)
    expect(cutter, "use_regex", None, True, what=WHAT)
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        expect(model, key, None, "", what=WHAT)
    expect(model, "dropout", None, what=WHAT)
    for key in ("byte_fallback", "ignore_merges"):
        expect(model, key, None, False, what=WHAT)
    layout, roles = ROBERTA, default_roles() | json_roles(data)
    if data.get("post_processor") is not None:
        layout, roles["cls"], roles["sep"] = read_layout(data["post_processor"])
    roles["unk"] = get(model, "unk_token", str, default=roles["unk"])
    roles |= config_roles(config)
    added = get(data, "added_tokens", list, default=[])
    return BytePairs(
        vocabulary=read_vocabulary(get_object(model, "vocab"), added, roles),
        merges=tuple(map(_pair, get(model, "merges", list))),
        blank_first=get(
            config, "add_prefix_space", bool, default=get(cutter, "add_prefix_space", bool, default=False)
        ),
        layout=layout,
    )


def from_vocab_json(words: Fields, merges: str, config: Fields) -> BytePairs:
    """Settings from a vocab.json, a merges.txt, and what tokenizer_config.json says about them."""
    return BytePairs(
        vocabulary=read_vocabulary(words, (), default_roles() | config_roles(config)),
        merges=tuple(_lines(merges)),
        blank_first=get(config, "add_prefix_space", bool, default=False),
    )


def save(settings: BytePairs, folder: Path, config: dict[str, object]) -> None:
    """Write the four files that transformers, transformers.js and we read."""
    vocabulary = settings.vocabulary
    write_json(folder / "tokenizer.json", _tokenizer_json(settings))
    write_json(
        folder / "tokenizer_config.json",
        {
            # transformers' RoBERTa knows no other layout than its own.
            "tokenizer_class": "RobertaTokenizer"
            if settings.layout == ROBERTA
            else "PreTrainedTokenizerFast",
            "add_prefix_space": settings.blank_first,
            "trim_offsets": True,
            **config_tokens(vocabulary),
            **config,
        },
    )
    write_json(folder / "vocab.json", vocabulary.ids)
    write_text(
        folder / "merges.txt",
        "#version: 0.2\n" + "".join(f"{left} {right}\n" for left, right in settings.merges),
    )


def _tokenizer_json(settings: BytePairs) -> dict[str, object]:
    vocabulary = settings.vocabulary
    bytes_level = {
        "type": "ByteLevel",
        "add_prefix_space": settings.blank_first,
        "trim_offsets": True,
        "use_regex": True,
    }
    frame = post_processor(vocabulary, settings.layout)
    if settings.layout == ROBERTA:  # which trims offsets too
        frame = {
            "type": "RobertaProcessing",
            **{
                role: [vocabulary.roles[role], vocabulary.ids[vocabulary.roles[role]]]
                for role in ("sep", "cls")
            },
            "trim_offsets": True,
            "add_prefix_space": settings.blank_first,
        }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added_tokens(vocabulary),
        "normalizer": None,
        "pre_tokenizer": bytes_level,
        "post_processor": frame,
        "decoder": bytes_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {word: vocabulary.ids[word] for word in vocabulary.words[: base_size(vocabulary)]},
            "merges": [list(pair) for pair in settings.merges],
        },
    }


def _lines(text: str) -> Iterable[Pair]:
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.removesuffix("\r")
        if line and not line.startswith("#version"):
            try:
                yield _pair(line)
            except TokenizerError as error:
                raise TokenizerError(f"line {number} of merges.txt: {error}") from error


def _pair(merge: object) -> Pair:
    """A merge as files write it: "a b", or a list of both in newer ones."""
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if (
        not isinstance(parts, list)
        or len(parts) != 2
        or not all(isinstance(part, str) and part for part in parts)
    ):
        raise TokenizerError(f"a merge is {short(merge)}; two words were expected")
    return parts[0], parts[1]
