"""The few fields of a spiece.model that a tokenizer needs, read without the sentencepiece and protobuf packages.

The file is a message of protocol buffers: fields one after the other, each a number and a wire type in one varint and
then a varint, 8 bytes, a length with so many bytes, or 4 bytes. Unknown fields are passed over, as the format wants it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

from pocketbert.errors import TokenizerError

PieceKind = Literal["normal", "unknown", "control", "user defined", "unused", "byte"]
KINDS: tuple[PieceKind, ...] = ("normal", "unknown", "control", "user defined", "unused", "byte")  # from 1 on
MODELS = {1: "Unigram", 2: "BPE", 3: "word", 4: "character"}
LARGEST = 1_000_000  # pieces


@dataclass(frozen=True)
class SentencePiece:
    """One entry of the vocabulary; its place is its id."""

    text: str
    score: float
    kind: PieceKind


@dataclass(frozen=True)
class SentencePieceModel:
    """What a file says."""

    pieces: tuple[SentencePiece, ...]
    model: str
    """"Unigram" is the one that we know how to run."""
    byte_fallback: bool
    characters: bytes
    """Which characters become which: a trie and the texts that it points into. Empty: all stay themselves."""
    blank_before: bool
    """Whether a blank is put before a text, and belongs to the word that it precedes."""


def read_sentencepiece(data: bytes) -> SentencePieceModel:
    """Read the bytes of a spiece.model."""
    pieces: list[SentencePiece] = []
    model, byte_fallback, characters, blank_before = 1, False, b"", True
    for number, value in _fields(data):
        if number == 1:
            pieces.append(_piece(_bytes(value), len(pieces)))
            if len(pieces) > LARGEST:
                raise TokenizerError(f"there are more than {LARGEST:,} pieces: that is no tokenizer")
        elif number == 2:  # how it was trained
            for inner, setting in _fields(_bytes(value)):
                if inner == 3:
                    model = _integer(setting)
                elif inner == 24:
                    blank_before &= not _integer(setting)
                elif inner == 35:
                    byte_fallback = bool(_integer(setting))
        elif number == 3:  # how texts are normalised
            for inner, setting in _fields(_bytes(value)):
                if inner == 2:
                    characters = _bytes(setting)
                elif inner == 3:
                    blank_before &= bool(_integer(setting))
    if not pieces:
        raise TokenizerError(
            "there are no pieces in it; get the spiece.model again from where the model came from"
        )
    return SentencePieceModel(
        tuple(pieces), MODELS.get(model, f"type {model}"), byte_fallback, characters, blank_before
    )


def _piece(data: bytes, place: int) -> SentencePiece:
    text, score, kind = "", 0.0, 1
    for number, value in _fields(data):
        if number == 1:
            try:
                text = _bytes(value).decode("utf-8")
            except UnicodeDecodeError as error:
                raise TokenizerError(
                    f"piece {place} is not UTF-8: the file is damaged; get it again"
                ) from error
        elif number == 2:
            if not isinstance(value, float):
                raise _damaged()
            score = value
        elif number == 3:
            kind = _integer(value)
    if not 1 <= kind <= len(KINDS):
        raise TokenizerError(f"piece {place} is of type {kind}; known are 1 to {len(KINDS)}")
    return SentencePiece(text, score, KINDS[kind - 1])


def _fields(data: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """Number and value of every field of a message."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, place = _varint(data, place)
            yield number, value
            continue
        if wire == 2:
            size, place = _varint(data, place)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise _damaged()
        if number == 0 or place + size > len(data):
            raise _damaged()
        part = data[place : place + size]
        place += size
        yield number, cast(float, struct.unpack("<f", part)[0]) if wire == 5 else part


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(data):
            raise _damaged()
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise _damaged()


def _bytes(value: int | float | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise _damaged()
    return value


def _integer(value: int | float | bytes) -> int:
    if not isinstance(value, int):
        raise _damaged()
    return value


def _damaged() -> TokenizerError:
    return TokenizerError(
        "it is not a sentencepiece model, or it is damaged; get the spiece.model again from where the model came from"
    )
