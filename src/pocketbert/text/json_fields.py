"""What the readers of tokenizer files share: fields of the right type, added words, names of special tokens.

Only what is understood in full is accepted: a tokenizer read nearly right gives ids that are nearly right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast, get_args

from pocketbert.errors import TokenizerError
from pocketbert.text.layout import Layout
from pocketbert.text.vocabulary import AddedWord, Role, Vocabulary

Value = TypeVar("Value")
Fields = Mapping[str, object]

ROLES: tuple[Role, ...] = get_args(Role)
FLAGS = ("single_word", "lstrip", "rstrip", "normalized")


def get(fields: Fields, key: str, kind: type[Value], *, default: object = ...) -> Value:
    """A field of a type; the default if it is missing or null."""
    value = fields.get(key)
    if value is None and default is not ...:
        return cast(Value, default)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TokenizerError(f"{key} is {short(value)}; a {kind.__name__} was expected")
    return value


def get_object(fields: Fields, key: str) -> dict[str, Any]:
    """A field that is an object."""
    return get(fields, key, dict)


def expect(fields: Fields, key: str, *allowed: object, what: str) -> None:
    """Refuse a field that is none of some values; `what` says what kind of tokenizer has them."""
    found = fields.get(key)
    # `==` alone takes 0 for False.
    if not any(found == value and type(found) is type(value) for value in allowed):
        raise TokenizerError(f"{key} is {short(found)}; {what} has {allowed[-1]!r}")


def short(value: object) -> str:
    """A value in an error message."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def config_roles(config: Fields) -> dict[Role, str]:
    """The names of special tokens that a tokenizer_config.json gives."""
    roles: dict[Role, str] = {}
    for role in ROLES:
        word = config.get(f"{role}_token")
        if isinstance(word, dict):  # older files write {"content": "[CLS]", "lstrip": false, …}
            word = word.get("content")
        if isinstance(word, str):
            roles[role] = word
    return roles


def json_roles(data: Fields) -> dict[Role, str]:
    """The names of special tokens that a tokenizer.json gives besides those in its frame."""
    roles: dict[Role, str] = {}
    padding = data.get("padding")
    if isinstance(padding, dict) and isinstance(padding.get("pad_token"), str):
        roles["pad"] = padding["pad_token"]
    return roles


def read_vocabulary(
    words: Mapping[str, object], added_tokens: Iterable[object], roles: Mapping[Role, str]
) -> Vocabulary:
    """Words with their ids, and the added_tokens of a tokenizer.json, some of which may be new words."""
    ids = dict(words)
    special: set[str] = set()
    stripping: set[str] = set()
    plain: dict[str, AddedWord] = {}
    for entry in added_tokens:
        if not isinstance(entry, dict):
            raise TokenizerError(f"an entry of added_tokens is {short(entry)}; an object was expected")
        word = get(entry, "content", str)
        if ids.setdefault(word, get(entry, "id", int)) != entry["id"] or word in special or word in plain:
            raise TokenizerError(
                f"added_tokens gives {word!r} an id of its own or lists it twice; it has one id"
            )
        normalized = get(entry, "normalized", bool, default=True)
        flags = {flag: get(entry, flag, bool, default=False) for flag in ("single_word", "lstrip", "rstrip")}
        if get(entry, "special", bool, default=False) or word in roles.values():
            special.add(word)
            if flags["lstrip"]:
                stripping.add(word)
        else:
            plain[word] = AddedWord(word, in_vocabulary=word in words, normalized=normalized, **flags)
    ordered: list[str | None] = [None] * len(ids)
    for word, position in ids.items():
        if type(position) is not int or not 0 <= position < len(ordered) or ordered[position] is not None:
            raise TokenizerError(
                f"the word {word!r} has the id {short(position)}; "
                f"the {len(ordered)} words need the ids 0 to {len(ordered) - 1}, each once"
            )
        ordered[position] = word
    return Vocabulary(
        tuple(word or "" for word in ordered),
        roles,
        further_special=frozenset(special),
        added=tuple(plain.values()),
        stripping=frozenset(stripping),
    )


def base_size(vocabulary: Vocabulary) -> int:
    """How many words stand before the added ones at the end, which readers number themselves."""
    new = {word.text for word in vocabulary.new_words}
    new |= vocabulary.further_special - set(vocabulary.roles.values())
    size = len(vocabulary.words)
    while vocabulary.words[size - 1] in new:
        size -= 1
    return size


def added_tokens(vocabulary: Vocabulary) -> list[dict[str, object]]:
    """The added_tokens of a tokenizer.json: special tokens and plain words."""
    plain = {word.text: word for word in vocabulary.added}
    return [
        {
            "id": vocabulary.ids[word],
            "content": word,
            **{flag: word in plain and getattr(plain[word], flag) for flag in FLAGS},
            **({"lstrip": True} if word in vocabulary.stripping else {}),
            "special": word not in plain,
        }
        for word in sorted(vocabulary.special | plain.keys(), key=vocabulary.ids.__getitem__)
    ]


def post_processor(vocabulary: Vocabulary, layout: Layout) -> dict[str, object]:
    """The frame as tokenizer.json writes it."""
    cls, sep = vocabulary.roles["cls"], vocabulary.roles["sep"]
    return {
        "type": "TemplateProcessing",
        **layout.template(cls, sep),
        "special_tokens": {
            word: {"id": word, "ids": [vocabulary.ids[word]], "tokens": [word]} for word in (cls, sep)
        },
    }


def config_tokens(vocabulary: Vocabulary) -> dict[str, object]:
    """The special tokens as tokenizer_config.json names them."""

    def entry(word: str) -> object:
        if word not in vocabulary.stripping:
            return word
        flags = {"lstrip": True, "rstrip": False, "single_word": False, "normalized": False, "special": True}
        return {"__type": "AddedToken", "content": word, **flags}

    return {f"{role}_token": entry(word) for role, word in vocabulary.roles.items()}
