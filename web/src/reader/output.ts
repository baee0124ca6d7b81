/** What a model says of a batch of windows, and whether two engines say the same. */

/** Start and end logits of each window. */
export type Output = { starts: Float32Array; ends: Float32Array }[];

const TOLERANCE = 1e-2; // in logits; answers begin to differ from about ten times that on

/** Whether two engines read the same. */
export function agree(expected: Output, found: Output): boolean {
  const near = (left: Float32Array, right: Float32Array) =>
    left.length === right.length && left.every((value, place) => Math.abs(value - right[place]!) <= TOLERANCE);
  return (
    expected.length === found.length &&
    expected.every((row, place) => near(row.starts, found[place]!.starts) && near(row.ends, found[place]!.ends))
  );
}
