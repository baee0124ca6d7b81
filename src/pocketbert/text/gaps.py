"""A text with gaps, `[MASK]` or whatever the vocabulary calls them, as tokens."""

from __future__ import annotations

from pocketbert.errors import InputError
from pocketbert.text.tokenizer import Tokenizer

GAP = "[MASK]"


def with_gaps(text: str, tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """The tokens of a text without special ones around, and the places of its gaps among them.

    A `[MASK]` written out in a text is text everywhere else; here it is what is asked about.

    >>> tokenizer = Tokenizer.load()
    >>> words, gaps = with_gaps("The [MASK] runs.", tokenizer)
    >>> [tokenizer.token(word) for word in words], gaps
    (['the', '[MASK]', 'runs', '.'], [1])
    """
    pieces = text.replace(tokenizer.token(tokenizer.mask_id), GAP).split(GAP)
    if len(pieces) < 2:
        raise InputError(f'the text has no gap: write {GAP} where a word is wanted, as in "The {GAP} barks."')
    words: list[int] = []
    gaps: list[int] = []
    for number, piece in enumerate(pieces):
        if number:
            gaps.append(len(words))
            words.append(tokenizer.mask_id)
        # The blank before a gap belongs to the word that is wanted.
        kept = piece if number == len(pieces) - 1 else piece.rstrip()
        words += tokenizer.encode(kept, special=False).ids
    return words, gaps
