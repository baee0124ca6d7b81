"""WordPiece files: tokenizer.json, vocab.txt and tokenizer_config.json, to settings and back."""

from __future__ import annotations

from pathlib import Path

from pocketbert.errors import TokenizerError
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
)
from pocketbert.text.layout import BERT, read_layout
from pocketbert.text.vocabulary import Role, Vocabulary
from pocketbert.text.wordpiece import PREFIX, WordPiece, default_roles

WHAT = "a WordPiece tokenizer of the BERT family"


def from_tokenizer_json(data: Fields, config: Fields) -> WordPiece:
    """Settings from a tokenizer.json; what tokenizer_config.json says besides wins, as in transformers."""
    model = get_object(data, "model")
    expect(model, "continuing_subword_prefix", None, PREFIX, what=WHAT)
    normalizer = get_object(data, "normalizer")
    expect(normalizer, "type", "BertNormalizer", what=WHAT)
    expect(get_object(data, "pre_tokenizer"), "type", "BertPreTokenizer", what=WHAT)
    roles = default_roles() | json_roles(data)
    roles["unk"] = get(model, "unk_token", str, default=roles["unk"])
    roles |= _frame(data.get("post_processor")) | config_roles(config)
    added = get(data, "added_tokens", list, default=[])
    return WordPiece(
        vocabulary=read_vocabulary(get_object(model, "vocab"), added, roles),
        lowercase=get(
            config, "do_lower_case", bool, default=get(normalizer, "lowercase", bool, default=True)
        ),
        strip_accents=get(
            config, "strip_accents", bool, default=get(normalizer, "strip_accents", bool, default=None)
        ),
        clean=get(normalizer, "clean_text", bool, default=True),
        split_chinese=get(
            config,
            "tokenize_chinese_chars",
            bool,
            default=get(normalizer, "handle_chinese_chars", bool, default=True),
        ),
        longest_word=get(model, "max_input_chars_per_word", int, default=100),
    )


def from_vocab_txt(text: str, config: Fields) -> WordPiece:
    """Settings from a vocab.txt, one word per line, and what tokenizer_config.json says about it."""
    lines = text.split("\n")
    while lines and lines[-1] in ("", "\r"):
        lines.pop()
    words = tuple(line.removesuffix("\r") for line in lines)
    return WordPiece(
        vocabulary=Vocabulary(words, default_roles() | config_roles(config)),
        lowercase=get(config, "do_lower_case", bool, default=True),
        strip_accents=get(config, "strip_accents", bool, default=None),
        split_chinese=get(config, "tokenize_chinese_chars", bool, default=True),
    )


def save(settings: WordPiece, folder: Path, config: dict[str, object]) -> None:
    """Write the three files that transformers, transformers.js and we read."""
    write_json(folder / "tokenizer.json", _tokenizer_json(settings))
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": settings.lowercase,
            "strip_accents": settings.strip_accents,
            "tokenize_chinese_chars": settings.split_chinese,
            **config_tokens(settings.vocabulary),
            **config,
        },
    )
    write_text(folder / "vocab.txt", "".join(f"{word}\n" for word in settings.vocabulary.words))


def _tokenizer_json(settings: WordPiece) -> dict[str, object]:
    vocabulary = settings.vocabulary
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added_tokens(vocabulary),
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": settings.clean,
            "handle_chinese_chars": settings.split_chinese,
            "strip_accents": settings.strip_accents,
            "lowercase": settings.lowercase,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": post_processor(vocabulary, settings.layout),
        "decoder": {"type": "WordPiece", "prefix": PREFIX, "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": vocabulary.roles["unk"],
            "continuing_subword_prefix": PREFIX,
            "max_input_chars_per_word": settings.longest_word,
            "vocab": {word: vocabulary.ids[word] for word in vocabulary.words[: base_size(vocabulary)]},
        },
    }


def _frame(processor: object) -> dict[Role, str]:
    """The names of the tokens before and after a text, from the post-processor, which must be BERT's."""
    if processor is None:
        return {}
    layout, cls, sep = read_layout(processor)
    if layout != BERT:
        raise TokenizerError(
            "the post_processor does not frame texts as [CLS] A [SEP] B [SEP]; WordPiece models have this frame"
        )
    return {"cls": cls, "sep": sep}
