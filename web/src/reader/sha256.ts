/** SHA-256 of some bytes, as hexadecimal digits. */

/** By the browser, or, on a page that is not served securely and gets no cryptography from it, by the code below. */
export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const subtle = (globalThis.crypto as Crypto | undefined)?.subtle;
  return hexadecimal(subtle ? new Uint8Array(await subtle.digest("SHA-256", bytes)) : ownDigest(bytes));
}

/** The same in plain JavaScript, as FIPS 180-4 defines it. */
export function ownDigest(bytes: Uint8Array): Uint8Array {
  const blocks = Math.ceil((bytes.length + 9) / 64);
  const tail = new Uint8Array(bytes.length % 64 > 55 ? 128 : 64);
  const whole = blocks * 64 - tail.length;
  tail.set(bytes.subarray(whole));
  tail[bytes.length - whole] = 0x80;
  const length = new DataView(tail.buffer);
  length.setUint32(tail.length - 8, Math.floor(bytes.length / 0x20000000));
  length.setUint32(tail.length - 4, (bytes.length << 3) >>> 0);
  const state = fractions(PRIMES.slice(0, 8), 1 / 2);
  const inside = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let place = 0; place < whole; place += 64) compress(state, inside, place);
  for (let place = 0; place < tail.length; place += 64) compress(state, length, place);
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, place) => digest.setUint32(4 * place, word));
  return new Uint8Array(digest.buffer);
}

const PRIMES = primes(64);
const CONSTANTS = fractions(PRIMES, 1 / 3);
const schedule = new Uint32Array(64);

function compress(state: Uint32Array, data: DataView, offset: number): void {
  const turn = (word: number, bits: number) => (word >>> bits) | (word << (32 - bits));
  for (let place = 0; place < 16; place++) schedule[place] = data.getUint32(offset + 4 * place);
  for (let place = 16; place < 64; place++) {
    const [near, far] = [schedule[place - 2]!, schedule[place - 15]!];
    const small = turn(far, 7) ^ turn(far, 18) ^ (far >>> 3);
    const large = turn(near, 17) ^ turn(near, 19) ^ (near >>> 10);
    schedule[place] = schedule[place - 16]! + small + schedule[place - 7]! + large;
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
  for (let place = 0; place < 64; place++) {
    const choice = (e & f) ^ (~e & g);
    const first = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + CONSTANTS[place]! + schedule[place]!) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const second = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + majority) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, place) => (state[place]! += word));
}

/** The first 32 bits behind the point of a power of each number. */
function fractions(numbers: readonly number[], power: number): Uint32Array {
  return Uint32Array.from(numbers, (number) => (number ** power % 1) * 0x100000000);
}

function primes(count: number): number[] {
  const found: number[] = [];
  for (let number = 2; found.length < count; number++) if (found.every((prime) => number % prime)) found.push(number);
  return found;
}

function hexadecimal(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
