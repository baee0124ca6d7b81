"""Tiny tokenizers of every kind, trained on a few lines, as the files that their models come with."""

from __future__ import annotations

import io
import json
import math
import re
import struct
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from pocketbert.text.sentencepiece import KINDS, read_sentencepiece

TEXT = """
The library opens at nine, and nobody waits. It isn't far: three hundred steps, or two stops by tram.
Who wrote the letters? Ada wrote 1,200 of them between 1843 and 1852 (some say more), in ink that didn't fade.
A café in the old town sells naïve paintings and résumés; the owner's "discount" is 5 % – or £3, or €4.
We're told they'll read every page, word by word, and that's how readers learn what a window is.
Question and answer, start and end: an answer begins where the reader says, and it ends where the reader stops.
The quick fox can't jump over the lazy dog again; it has jumped, it is jumping, and it will have jumped enough.
Rivers run through valleys. Bridges cross rivers. Children cross bridges, counting boats, birds and clouds.
Nothing is unbelievable or unaffable if you repeat it often: unbelievably, believing believers believe beliefs.
"""
ROBERTA_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
SYMBOLS = ["(", ")", '"', "-", ".", "–", "£", "€"]
LINES = [line for line in TEXT.split("\n") if line] * 4


def write_roberta(folder: Path, **config: object) -> Path:
    """A vocab.json and a merges.txt, with <mask> at the end as RoBERTa has it."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    library = Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=ROBERTA_SPECIAL,
        show_progress=False,
    )
    library.train_from_iterator(LINES, trainer)
    folder.mkdir(parents=True, exist_ok=True)
    library.model.save(str(folder))
    words = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    words |= {"madeupword0000": len(words), "<mask>": len(words) + 1}
    (folder / "vocab.json").write_text(json.dumps(words), encoding="utf-8")
    return _configured(folder, config)


def write_albert(folder: Path, **config: object) -> Path:
    """A spiece.model with the special tokens, the symbols and the normalisation of ALBERT's."""
    control = ["[CLS]", "[SEP]", "[MASK]"]
    return _spiece(
        folder, config, pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, control_symbols=control, symbols=SYMBOLS
    )


def write_xlnet(folder: Path, **config: object) -> Path:
    """A spiece.model with the special tokens and the symbols of XLNet's."""
    control = ["<cls>", "<sep>", "<pad>", "<mask>", "<eod>"]
    symbols = ["<eop>", ".", "(", ")", '"', "-", "–", "£", "€"]
    return _spiece(
        folder, config, unk_id=0, bos_id=1, eos_id=2, pad_id=-1, control_symbols=control, symbols=symbols
    )


def _spiece(folder: Path, config: dict[str, object], *, symbols: list[str], **options: object) -> Path:
    import sentencepiece

    trained = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_writer=trained,
        vocab_size=300,
        hard_vocab_limit=False,
        user_defined_symbols=symbols,
        minloglevel=2,
        num_threads=1,
        **options,
    )
    # Special tokens, settings and normalisation are the library's. Which pieces it finds changes with its releases.
    found = trained.getvalue()
    special = [
        (piece.text, piece.score, KINDS.index(piece.kind) + 1)
        for piece in read_sentencepiece(found).pieces
        if piece.kind != "normal"
    ]
    taken = {text for text, _, _ in special}
    counted = [(text, score, 1) for text, score in _counted() if text not in taken]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spiece.model").write_bytes(spiece_bytes([*special, *counted]) + _settings(found))
    return _configured(folder, config)


def _counted() -> list[tuple[str, float]]:
    """Pieces with their logarithmic frequencies: words seen twice, parts of words seen often, and every character."""
    words = ["▁" + word for word in TEXT.split()]
    counts: Counter[str] = Counter()
    for piece in (part for word in words for part in re.findall(r"▁?\w+|\W", word)):
        counts.update(
            {piece[start:end] for start in range(len(piece)) for end in range(start + 2, len(piece) + 1)}
        )
        counts[piece] += 1
    kept = {piece: count for piece, count in counts.items() if count >= (4 if piece[0] == "▁" else 6)}
    kept |= dict.fromkeys("▁" + "".join(words), 1)
    total = sum(kept.values())
    ordered = sorted(kept, key=lambda piece: (-kept[piece], piece))
    return [(piece, math.log(kept[piece] / total)) for piece in ordered]


def _settings(data: bytes) -> bytes:
    """What follows the pieces in a spiece.model."""
    place = 0
    while data[place] == 1 << 3 | 2:
        size, length, shift = 0, place + 1, 0
        while data[length] & 0x80:
            size |= (data[length] & 0x7F) << shift
            length, shift = length + 1, shift + 7
        place = length + 1 + (size | data[length] << shift)
    return data[place:]


def _configured(folder: Path, config: dict[str, object]) -> Path:
    if config:
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def spiece_bytes(
    pieces: Iterable[tuple[str, float, int]], *, trainer: bytes = b"", normalizer: bytes = b""
) -> bytes:
    """A spiece.model by hand: text, score and type of each piece, and two messages of settings."""
    found = b""
    for text, score, kind in pieces:
        piece = field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + field(3, kind)
        found += field(1, piece)
    return found + field(2, trainer) + field(3, normalizer)


def field(number: int, value: int | bytes) -> bytes:
    """One field of a message of protocol buffers."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
