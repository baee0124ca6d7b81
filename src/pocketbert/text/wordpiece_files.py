"""WordPiece files: tokenizer.json, vocab.txt and tokenizer_config.json, to settings and back.

Only what is understood in full is accepted: a tokenizer read nearly right gives ids that are nearly right.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from pocketbert.errors import TokenizerError
from pocketbert.text.files import write_text
from pocketbert.text.wordpiece import PREFIX, AddedWord, Role, WordPiece, default_roles

Value = TypeVar("Value")
Fields = Mapping[str, object]

ROLES: tuple[Role, ...] = get_args(Role)


def from_tokenizer_json(data: Fields, config: Fields) -> WordPiece:
    """Settings from a tokenizer.json; what tokenizer_config.json says besides wins, as in transformers."""
    model = _object(data, "model")
    _expect(model, "continuing_subword_prefix", PREFIX, default=PREFIX)
    normalizer = _object(data, "normalizer")
    _expect(normalizer, "type", "BertNormalizer")
    _expect(_object(data, "pre_tokenizer"), "type", "BertPreTokenizer")
    words, special, added = _vocabulary(_object(model, "vocab"), _list(data, "added_tokens"))
    padding = data.get("padding")
    roles = default_roles()
    roles["unk"] = _get(model, "unk_token", str, default=roles["unk"])
    if isinstance(padding, dict):
        roles["pad"] = _get(padding, "pad_token", str, default=roles["pad"])
    roles |= _frame_roles(data.get("post_processor")) | _config_roles(config)
    return WordPiece(
        words=words,
        lowercase=_get(
            config, "do_lower_case", bool, default=_get(normalizer, "lowercase", bool, default=True)
        ),
        strip_accents=_get(
            config, "strip_accents", bool, default=_get(normalizer, "strip_accents", bool, default=None)
        ),
        clean=_get(normalizer, "clean_text", bool, default=True),
        split_chinese=_get(
            config,
            "tokenize_chinese_chars",
            bool,
            default=_get(normalizer, "handle_chinese_chars", bool, default=True),
        ),
        longest_word=_get(model, "max_input_chars_per_word", int, default=100),
        roles=roles,
        further_special=special,
        added=added,
    )


def from_vocab_txt(text: str, config: Fields) -> WordPiece:
    """Settings from a vocab.txt, one word per line, and what tokenizer_config.json says about it."""
    lines = text.split("\n")
    while lines and lines[-1] in ("", "\r"):
        lines.pop()
    return WordPiece(
        words=tuple(line.removesuffix("\r") for line in lines),
        lowercase=_get(config, "do_lower_case", bool, default=True),
        strip_accents=_get(config, "strip_accents", bool, default=None),
        split_chinese=_get(config, "tokenize_chinese_chars", bool, default=True),
        roles=default_roles() | _config_roles(config),
    )


def save(settings: WordPiece, folder: Path, *, model_max_length: int | None) -> None:
    """Write the three files that transformers, transformers.js and we read."""
    folder.mkdir(parents=True, exist_ok=True)
    config: dict[str, object] = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": settings.lowercase,
        "strip_accents": settings.strip_accents,
        "tokenize_chinese_chars": settings.split_chinese,
        **{f"{role}_token": word for role, word in settings.roles.items()},
    }
    if model_max_length is not None:
        config["model_max_length"] = model_max_length
    write_text(
        folder / "tokenizer.json", json.dumps(_tokenizer_json(settings), ensure_ascii=False, indent=2) + "\n"
    )
    write_text(folder / "tokenizer_config.json", json.dumps(config, ensure_ascii=False, indent=2) + "\n")
    write_text(folder / "vocab.txt", "".join(f"{word}\n" for word in settings.words))


def _tokenizer_json(settings: WordPiece) -> dict[str, object]:
    ids = {word: position for position, word in enumerate(settings.words)}
    plain = {word.text: word for word in settings.added}
    marked = sorted(settings.special | plain.keys(), key=ids.__getitem__)
    new = {word.text for word in settings.new_words} | settings.further_special - set(settings.roles.values())
    base = len(ids)
    while (
        settings.words[base - 1] in new
    ):  # readers number these themselves, from the end of the vocabulary on
        base -= 1
    flags = ("single_word", "lstrip", "rstrip", "normalized")
    cls, sep = settings.roles["cls"], settings.roles["sep"]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": ids[word],
                "content": word,
                **{flag: word in plain and getattr(plain[word], flag) for flag in flags},
                "special": word not in plain,
            }
            for word in marked
        ],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": settings.clean,
            "handle_chinese_chars": settings.split_chinese,
            "strip_accents": settings.strip_accents,
            "lowercase": settings.lowercase,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            **_frame(cls, sep),
            "special_tokens": {
                word: {"id": word, "ids": [ids[word]], "tokens": [word]} for word in (cls, sep)
            },
        },
        "decoder": {"type": "WordPiece", "prefix": PREFIX, "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": settings.roles["unk"],
            "continuing_subword_prefix": PREFIX,
            "max_input_chars_per_word": settings.longest_word,
            "vocab": {word: ids[word] for word in settings.words[:base]},
        },
    }


def _vocabulary(
    vocabulary: Fields, added_tokens: list[object]
) -> tuple[tuple[str, ...], frozenset[str], tuple[AddedWord, ...]]:
    """The words in the order of their ids, the special ones among them, and the plain ones added later."""
    ids = dict(vocabulary)
    special: set[str] = set()
    plain: dict[str, AddedWord] = {}
    for entry in added_tokens:
        if not isinstance(entry, dict):
            raise TokenizerError(f"an entry of added_tokens is {_short(entry)}; an object was expected")
        word = _get(entry, "content", str)
        if ids.setdefault(word, _get(entry, "id", int)) != entry["id"] or word in special or word in plain:
            raise TokenizerError(
                f"added_tokens gives {word!r} an id of its own or lists it twice; it has one id"
            )
        normalized = _get(entry, "normalized", bool, default=True)
        flags = {flag: _get(entry, flag, bool, default=False) for flag in ("single_word", "lstrip", "rstrip")}
        if _get(entry, "special", bool, default=False):
            special.add(word)
        else:
            plain[word] = AddedWord(word, in_vocabulary=word in vocabulary, normalized=normalized, **flags)
    words: list[str | None] = [None] * len(ids)
    for word, position in ids.items():
        if type(position) is not int or not 0 <= position < len(words) or words[position] is not None:
            raise TokenizerError(
                f"the word {word!r} has the id {_short(position)}; "
                f"the {len(words)} words need the ids 0 to {len(words) - 1}, each once"
            )
        words[position] = word
    return tuple(word or "" for word in words), frozenset(special), tuple(plain.values())


def _frame(cls: str, sep: str) -> dict[str, object]:
    def special(word: str, sequence: int) -> dict[str, object]:
        return {"SpecialToken": {"id": word, "type_id": sequence}}

    first = [special(cls, 0), {"Sequence": {"id": "A", "type_id": 0}}, special(sep, 0)]
    return {"single": first, "pair": [*first, {"Sequence": {"id": "B", "type_id": 1}}, special(sep, 1)]}


def _frame_roles(processor: object) -> dict[Role, str]:
    """The names of the tokens before and after a text, from the post-processor, which must be BERT's."""
    if processor is None:
        return {}
    fields: Any = processor  # whatever its shape, it fits or is refused
    cls: object = None
    sep: object = None
    with suppress(LookupError, TypeError):
        if fields["type"] == "BertProcessing":
            cls, sep = fields["cls"][0], fields["sep"][0]
        else:
            first, last = (fields["single"][place]["SpecialToken"]["id"] for place in (0, 2))
            if {name: fields[name] for name in ("single", "pair")} == _frame(first, last):
                cls, sep = first, last
    if isinstance(cls, str) and isinstance(sep, str):
        return {"cls": cls, "sep": sep}
    raise TokenizerError(
        "the post_processor does not frame texts as [CLS] A [SEP] B [SEP]; only this frame is supported"
    )


def _config_roles(config: Fields) -> dict[Role, str]:
    roles: dict[Role, str] = {}
    for role in ROLES:
        word = config.get(f"{role}_token")
        if isinstance(word, dict):  # older files write {"content": "[CLS]", "lstrip": false, …}
            word = word.get("content")
        if isinstance(word, str):
            roles[role] = word
    return roles


def _object(fields: Fields, key: str) -> dict[str, Any]:
    return _get(fields, key, dict)


def _list(fields: Fields, key: str) -> list[object]:
    return _get(fields, key, list, default=[])


def _expect(fields: Fields, key: str, wanted: str, *, default: object = None) -> None:
    found = fields.get(key, default)
    if found != wanted:
        raise TokenizerError(
            f"{key} is {_short(found)}; a WordPiece tokenizer of the BERT family has {wanted!r}"
        )


def _get(fields: Fields, key: str, kind: type[Value], *, default: object = ...) -> Value:
    value = fields.get(key)
    if value is None and default is not ...:
        return cast(Value, default)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TokenizerError(f"{key} is {_short(value)}; a {kind.__name__} was expected")
    return value


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
