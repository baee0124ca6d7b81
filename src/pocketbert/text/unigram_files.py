"""Unigram files: tokenizer.json or spiece.model, and tokenizer_config.json; to settings and back.

A spiece.model is read as transformers 5 reads it. So the symbols that its makers defined, brackets and currencies in
ALBERT's and XLNet's, are cut out of a text first, and what follows one begins a word.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any

from pocketbert.errors import TokenizerError
from pocketbert.text.files import write_json
from pocketbert.text.json_fields import (
    Fields,
    added_tokens,
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
from pocketbert.text.layout import BERT, XLNET, Layout, read_layout
from pocketbert.text.sentencepiece import read_sentencepiece
from pocketbert.text.unigram import BLANK, QUOTES, Unigram, albert_roles, xlnet_roles
from pocketbert.text.vocabulary import AddedWord, Role, Vocabulary

WHAT = "a Unigram tokenizer of ALBERT or XLNet"
# A step that some files have and that changes nothing, as texts are split at blanks.
SQUEEZE = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}


def from_tokenizer_json(data: Fields, config: Fields) -> Unigram:
    """Settings from a tokenizer.json; what tokenizer_config.json says besides wins, as in transformers."""
    model = get_object(data, "model")
    expect(model, "byte_fallback", None, False, what=WHAT)
    _check_splitting(data.get("pre_tokenizer"))
    lowercase, keep_accents, characters = _normalization(data.get("normalizer"))
    words, scores = _scored(get(model, "vocab", list))
    names = list(words)
    layout, roles = _defaults(names)
    roles |= json_roles(data)
    if data.get("post_processor") is not None:
        layout, roles["cls"], roles["sep"] = read_layout(data["post_processor"])
    unknown = get(model, "unk_id", int)
    if not 0 <= unknown < len(names):
        raise TokenizerError(f"unk_id is {unknown}; allowed are 0 to {len(names) - 1}")
    roles |= config_roles(config) | {"unk": names[unknown]}
    entries = _with_marked_as_special(get(data, "added_tokens", list, default=[]), words)
    return Unigram(
        vocabulary=read_vocabulary(words, entries, roles),
        scores=tuple(scores),
        lowercase=get(config, "do_lower_case", bool, default=lowercase),
        keep_accents=get(config, "keep_accents", bool, default=keep_accents) and layout != XLNET,
        characters=characters,
        layout=layout,
    )


def from_spiece_model(data: bytes, config: Fields) -> Unigram:
    """Settings from a spiece.model, and what tokenizer_config.json says about it."""
    model = read_sentencepiece(data)
    if model.model != "Unigram":
        raise TokenizerError(
            f"its model is {model.model}; ALBERT's and XLNet's are Unigram, and only it is supported"
        )
    if model.byte_fallback:
        raise TokenizerError(
            "it falls back to bytes, which ALBERT and XLNet do not; only theirs are supported"
        )
    if not model.blank_before:
        raise TokenizerError(
            "it puts no blank before words, which ALBERT and XLNet do; only theirs are supported"
        )
    unknown = [piece.text for piece in model.pieces if piece.kind == "unknown"]
    if len(unknown) != 1:
        raise TokenizerError(f"{len(unknown)} of its pieces stand for unknown words; there must be one")
    words = tuple(piece.text for piece in model.pieces)
    layout, roles = _defaults(words)
    control = {piece.text for piece in model.pieces if piece.kind == "control"}
    symbols = [piece.text for piece in model.pieces if piece.kind == "user defined"]
    roles |= config_roles(config) | {"unk": unknown[0]}
    special = control | set(filter(_is_marked, symbols))
    return Unigram(
        vocabulary=Vocabulary(
            words,
            roles,
            further_special=frozenset(special),
            added=tuple(
                AddedWord(word, in_vocabulary=True, normalized=False)
                for word in symbols
                if word not in special and word not in roles.values()
            ),
        ),
        scores=tuple(piece.score for piece in model.pieces),
        lowercase=get(config, "do_lower_case", bool, default=layout != XLNET),
        # transformers reads the setting for ALBERT alone: XLNet has no accents.
        keep_accents=get(config, "keep_accents", bool, default=False) and layout != XLNET,
        characters=model.characters,
        layout=layout,
    )


def save(settings: Unigram, folder: Path, config: dict[str, object]) -> None:
    """Write the two files that transformers, transformers.js and we read."""
    vocabulary = settings.vocabulary
    unknown = vocabulary.ids[vocabulary.roles["unk"]]
    # transformers builds these two from their names, and takes some things for granted.
    name = "PreTrainedTokenizerFast"
    if settings.layout == BERT and unknown == 1:
        name = "AlbertTokenizer"
    elif settings.layout == XLNET:
        name = "XLNetTokenizer"
    write_json(folder / "tokenizer.json", _tokenizer_json(settings))
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": name,
            "do_lower_case": settings.lowercase,
            "keep_accents": settings.keep_accents,
            "unk_id": unknown,
            "padding_side": settings.layout.padding,
            "extra_special_tokens": sorted(vocabulary.special - set(vocabulary.roles.values())),
            **config_tokens(vocabulary),
            **config,
        },
    )


def _defaults(words: Iterable[str]) -> tuple[Layout, dict[Role, str]]:
    """Whose tokenizer it is, told by the names of its special tokens."""
    known = set(words)
    if {"<cls>", "<sep>"} <= known:
        return XLNET, xlnet_roles()
    return BERT, albert_roles()


def _is_marked(word: str) -> bool:
    """Whether a word is written as special tokens are: <eop>."""
    return len(word) > 2 and word[0] == "<" and word[-1] == ">"


def _with_marked_as_special(entries: list[Any], words: Container[str]) -> list[Any]:
    """What sentencepiece calls a symbol, XLNet's <eop> among them, transformers saves as a plain word."""

    def is_special(entry: object) -> bool:
        word = entry.get("content") if isinstance(entry, dict) else None
        return isinstance(word, str) and word in words and _is_marked(word)

    return [{**entry, "special": True} if is_special(entry) else entry for entry in entries]


def _scored(entries: list[object]) -> tuple[dict[str, int], list[float]]:
    words: dict[str, int] = {}
    scores: list[float] = []
    for entry in entries:
        match entry:
            case [str(word), int(score) | float(score)] if not isinstance(score, bool):
                if words.setdefault(word, len(words)) != len(scores):
                    raise TokenizerError(
                        f"the word {word!r} stands in the vocabulary twice; every word has one id"
                    )
                scores.append(float(score))
            case _:
                raise TokenizerError(
                    f"an entry of vocab is {short(entry)}; a word and its score were expected"
                )
    return words, scores


def _check_splitting(cutter: Any) -> None:
    """Texts are split at blanks, and each word gets a "▁"; newer files leave the first step to the second."""
    is_list = isinstance(cutter, dict) and cutter.get("type") == "Sequence"
    parts: Any = cutter.get("pretokenizers") if is_list else [cutter]
    match parts:
        case [{"type": "WhitespaceSplit"}, {"type": "Metaspace"}] | [{"type": "Metaspace"}]:
            expect(parts[-1], "replacement", BLANK, what=WHAT)
            expect(parts[-1], "prepend_scheme", None, "always", what=WHAT)
            expect(parts[-1], "add_prefix_space", None, True, what=WHAT)
        case _:
            raise TokenizerError(
                f"pre_tokenizer is {short(cutter)}; {WHAT} has WhitespaceSplit and Metaspace"
            )


def _normalization(normalizer: object) -> tuple[bool, bool, bytes]:
    """Whether letters are lowered, whether accents are kept, and the table of characters."""
    fields = normalizer.get("normalizers") if isinstance(normalizer, dict) else None
    steps = list(fields) if isinstance(fields, list) else []
    lowercase, keep_accents, characters = False, True, b""
    if steps[: len(QUOTES)] == _quotes():
        del steps[: len(QUOTES)]
        if steps[:2] == [{"type": "NFKD"}, {"type": "StripAccents"}]:
            keep_accents = False
            del steps[:2]
        if steps[:1] == [{"type": "Lowercase"}]:
            lowercase = True
            del steps[:1]
        match steps:
            case [{"type": "Precompiled", "precompiled_charsmap": str(table)}, *_]:
                characters = _decoded(table)
                del steps[:1]
        if steps in ([], [SQUEEZE]):
            return lowercase, keep_accents, characters
    raise TokenizerError(
        f"normalizer is {short(normalizer)}; {WHAT} replaces `` and '', and then may have NFKD with StripAccents, "
        "Lowercase and Precompiled, in this order"
    )


def _decoded(table: str) -> bytes:
    try:
        return base64.b64decode(table, validate=True)
    except binascii.Error as error:
        raise TokenizerError(f"precompiled_charsmap is not base64: {error}") from error


def _quotes() -> list[dict[str, object]]:
    return [{"type": "Replace", "pattern": {"String": quote}, "content": '"'} for quote in QUOTES]


def _tokenizer_json(settings: Unigram) -> dict[str, object]:
    vocabulary = settings.vocabulary
    normalizers = _quotes()
    if not settings.keep_accents:
        normalizers += [{"type": "NFKD"}, {"type": "StripAccents"}]
    if settings.lowercase:
        normalizers.append({"type": "Lowercase"})
    if settings.characters:
        table = base64.b64encode(settings.characters).decode()
        normalizers.append({"type": "Precompiled", "precompiled_charsmap": table})
    blanks = {"type": "Metaspace", "replacement": BLANK, "prepend_scheme": "always", "split": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added_tokens(vocabulary),
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, blanks]},
        "post_processor": post_processor(vocabulary, settings.layout),
        "decoder": blanks,
        "model": {
            "type": "Unigram",
            "unk_id": vocabulary.ids[vocabulary.roles["unk"]],
            "byte_fallback": False,
            "vocab": [list(entry) for entry in zip(vocabulary.words, settings.scores, strict=False)],
        },
    }
