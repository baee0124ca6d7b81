/** Batches of windows of like length: what is padded is computed too, and thrown away. */

const TOKENS = 512; // in a batch, padding included
const WASTE = 0.04; // the share of a batch that may be padding

/** The places of windows of these lengths, batch by batch, the longest first. */
export function batches(lengths: readonly number[], tokens: number = TOKENS): number[][] {
  const found: number[][] = [];
  let held = 0; // tokens in the last batch, without padding
  for (const place of lengths.map((_, place) => place).sort((a, b) => lengths[b]! - lengths[a]!)) {
    const length = lengths[place]!;
    const batch = found.at(-1);
    if (batch) {
      const size = lengths[batch[0]!]! * (batch.length + 1);
      if (size <= tokens && size - held - length <= WASTE * size) {
        batch.push(place);
        held += length;
        continue;
      }
    }
    found.push([place]);
    held = length;
  }
  return found;
}
