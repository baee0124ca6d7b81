/** What can go wrong, under the names that Python gives it; every error says what to do. */

export class PocketbertError extends Error {
  override name = "PocketbertError";
}

/** Something that was given is not allowed. */
export class InputError extends PocketbertError {
  override name = "InputError";
}

/** A file of settings is missing or says something that cannot be. */
export class ConfigError extends PocketbertError {
  override name = "ConfigError";
}

/** A model's files are missing, or are not those that they should be. */
export class CheckpointError extends PocketbertError {
  override name = "CheckpointError";
}

/** A tokenizer's files cannot be used. */
export class TokenizerError extends PocketbertError {
  override name = "TokenizerError";
}

const KINDS = { InputError, ConfigError, CheckpointError, TokenizerError };

/** An error that came out of a worker as its name and its message. */
export function revived(name: string, message: string): Error {
  const kind = KINDS[name as keyof typeof KINDS];
  if (kind) return new kind(message);
  return new PocketbertError(name === "PocketbertError" ? message : `${name}: ${message}`);
}

/** A value in a message, not too long. */
export function shown(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    // A cycle or a bigint: its type has to do.
  }
  text ??= String(value);
  return text.length <= 60 ? text : `${text.slice(0, 60)}…`;
}
