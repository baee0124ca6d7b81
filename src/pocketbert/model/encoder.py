"""An encoder is embeddings, blocks and perhaps a pooler; this is the walk through them that all share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from pocketbert.errors import InputError
from pocketbert.model.config import Config
from pocketbert.model.layers import EncoderOutput, attention_bias


class Encoder(nn.Module):
    """Token ids to feature maps.

    Built by an architecture's own file; use `pocketbert.build` or `pocketbert.load`. Set `gradient_checkpointing`
    to trade time for memory in training.
    """

    extras: ClassVar[tuple[str, ...]] = ()
    """What the encoder's forward pass takes besides the arguments that all share."""

    def __init__(
        self, config: Config, embeddings: nn.Module, blocks: Iterable[nn.Module], pooler: nn.Module | None
    ) -> None:
        super().__init__()
        self.config = config
        self.embeddings = embeddings
        self.blocks = nn.ModuleList(blocks)
        self.pooler = pooler
        self.gradient_checkpointing = False

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        head_mask: Tensor | None = None,
        feature_maps: bool = False,
        attentions: bool = False,
    ) -> EncoderOutput:
        """Run a batch of `input_ids` (B, S), or of word vectors in `inputs_embeds` (B, S, E).

        `attention_mask` is 1 for real tokens and 0 for padding; `head_mask` (blocks, heads) scales heads, or (heads)
        the same in every block. Padding never changes what a real token gets.
        """
        words = self._words(input_ids, inputs_embeds)  # (B, S, E)
        mask = self._mask(words, attention_mask)
        x = self.embeddings(words, mask, token_type_ids, position_ids, input_ids)  # (B, S, W)
        bias = attention_bias(mask, x.dtype)
        head_scales = self._head_scales(head_mask, x)
        maps: list[Tensor] = [x]
        attention_maps: list[Tensor] = []
        for block, head_scale in zip(self.blocks, head_scales, strict=True):
            x, attention_map = self._run(block, x, bias, head_scale, attentions)
            if feature_maps:
                maps.append(x)
            if attentions:
                attention_maps.append(attention_map)
        return EncoderOutput(
            last=x,
            mask=mask,
            pooled=None if self.pooler is None else self.pooler(x),
            feature_maps=tuple(maps) if feature_maps else None,
            attentions=tuple(attention_maps) if attentions else None,
        )

    @property
    def word_table(self) -> nn.Parameter:
        """The word embeddings (vocabulary, embedding width), which a masked-LM head shares."""
        table: nn.Parameter = self.embeddings.word.weight  # type: ignore[union-attr,assignment]
        return table

    def prune_heads(self, heads: Mapping[int, Iterable[int]] | Tensor) -> None:
        """Remove attention heads for good: `{block: heads}`, or a head mask (blocks, heads) whose zeros go."""
        if isinstance(heads, Tensor):
            wanted = (len(self.blocks), self.config.num_attention_heads)
            if tuple(heads.shape) != wanted:
                raise InputError(
                    f"a head mask to prune by has the shape {wanted} (blocks, heads), not {tuple(heads.shape)}"
                )
            heads = {block: (row == 0).nonzero().flatten().tolist() for block, row in enumerate(heads)}
        wanted_of = {block: sorted(set(chosen)) for block, chosen in heads.items()}
        pruned = dict(self.config.pruned_heads)
        for block, gone in wanted_of.items():
            if not 0 <= block < len(self.blocks) or any(
                not 0 <= head < self.config.num_attention_heads for head in gone
            ):
                raise InputError(
                    f"cannot prune heads {gone} of block {block}: there are blocks 0 to {len(self.blocks) - 1} "
                    f"with heads 0 to {self.config.num_attention_heads - 1}"
                )
            sharing = [number for number, part in enumerate(self.blocks) if part is self.blocks[block]]
            if any(wanted_of.get(number, []) != gone for number in sharing):
                raise InputError(
                    f"cannot prune heads {gone} of block {block} alone: blocks {', '.join(map(str, sharing))} share "
                    "their weights; prune the same heads of all of them"
                )
            if gone:
                if block == sharing[0]:
                    self.blocks[block].attention.prune(gone)  # type: ignore[union-attr,operator]
                pruned[block] = tuple(sorted({*pruned.get(block, ()), *gone}))
        self.config = replace(self.config, pruned_heads=tuple(sorted(pruned.items())))

    def resize_vocabulary(self, size: int) -> None:
        """Grow or shrink the word table; new rows start as the mean of the old ones."""
        self.embeddings.word.weight = nn.Parameter(resized(self.word_table, size))  # type: ignore[union-attr]
        self.embeddings.word.num_embeddings = size  # type: ignore[union-attr]
        self.config = replace(self.config, vocab_size=size)

    def _run(self, block: nn.Module, *arguments: Any) -> Any:
        """One block's work, to be done again in the backward pass where memory is short."""
        if self.gradient_checkpointing and self.training:
            return checkpoint(block, *arguments, use_reentrant=False)
        return block(*arguments)

    def _words(self, input_ids: Tensor | None, inputs_embeds: Tensor | None) -> Tensor:
        if (input_ids is None) == (inputs_embeds is None):
            raise InputError("give either input_ids or inputs_embeds, not both and not neither")
        if inputs_embeds is not None:
            expected = self.word_table.shape[1]
            if inputs_embeds.dim() != 3 or inputs_embeds.shape[2] != expected:
                raise InputError(
                    f"inputs_embeds must be word vectors of the shape (batch, length, {expected}), "
                    f"not {tuple(inputs_embeds.shape)}"
                )
            return inputs_embeds
        assert input_ids is not None  # noqa: S101 -- for the type checker; the check above saw to it
        if input_ids.dim() != 2 or input_ids.shape[1] == 0:
            raise InputError(
                f"input_ids must have the shape (batch, length), length of 1 or more, not {tuple(input_ids.shape)}"
            )
        if input_ids.is_floating_point():
            raise InputError(f"input_ids must be integers, not {input_ids.dtype}")
        try:
            words: Tensor = self.embeddings.word(input_ids)  # type: ignore[operator]
        except IndexError:
            raise InputError(
                f"input_ids hold {int(input_ids.min())} to {int(input_ids.max())}, but this vocabulary has ids 0 to "
                f"{self.config.vocab_size - 1}: was the text encoded with another tokenizer?"
            ) from None
        return words

    def _mask(self, words: Tensor, attention_mask: Tensor | None) -> Tensor:
        shape = words.shape[:2]
        longest = self.config.longest
        if longest is not None and shape[1] > longest:
            raise InputError(
                f"{shape[1]} tokens were given, but this model has {longest} positions; read longer texts in windows "
                "(pocketbert.windows)"
            )
        if attention_mask is None:
            return torch.ones(shape, dtype=torch.long, device=words.device)
        if attention_mask.shape != shape:
            raise InputError(
                f"attention_mask must have the shape {tuple(shape)} of the input, not {tuple(attention_mask.shape)}"
            )
        return attention_mask

    def _head_scales(self, head_mask: Tensor | None, x: Tensor) -> list[Tensor | None]:
        blocks, heads = len(self.blocks), self.config.num_attention_heads
        if head_mask is None:
            return [None] * blocks
        if tuple(head_mask.shape) not in {(heads,), (blocks, heads)}:
            raise InputError(
                f"head_mask must have the shape ({heads},) or ({blocks}, {heads}), not {tuple(head_mask.shape)}"
            )
        return list(head_mask.to(x.dtype).expand(blocks, heads).unbind())


def resized(table: Tensor, size: int, dim: int = 0) -> Tensor:
    """A copy of a table with `size` rows (or columns): cut, or filled up with the mean of those there are."""
    if size < 1:
        raise InputError(f"a vocabulary has at least one word, not {size}")
    kept = table.detach().narrow(dim, 0, min(size, table.shape[dim]))
    missing = size - kept.shape[dim]
    if missing <= 0:
        return kept.clone()
    mean = table.detach().mean(dim=dim, keepdim=True)
    shape: list[Any] = [-1] * table.dim()
    shape[dim] = missing
    return torch.cat([kept, mean.expand(*shape)], dim=dim)
