/**
 * Scores that are probabilities: what `qa_config.json` holds and how it is used.
 *
 * Which span it is and whether there is one at all are two questions, each with a scale of its own that was fitted
 * on held-out documents. With Z the sum of exp(log odds / temperature) over all spans, windows weighted by their
 * promise,
 *
 *     P(answer) = sigmoid(slope · log Z - bias),   P(span) = P(answer) · exp(log odds / temperature) / Z.
 */

import { ConfigError, shown } from "../errors";
import { logSum } from "./spans";

export const KEPT_SPANS = 50;

export interface Calibration {
  window: number;
  overlap: number;
  maxAnswerLength: number;
  temperature: number;
  slope: number;
  bias: number;
  /** The probability of no answer above which none is given. */
  threshold: number;
}

/** What a folder without qa_config.json gets: scores are the model's bare softmax. */
export const NEUTRAL: Calibration = {
  window: 384,
  overlap: 128,
  maxAnswerLength: 30,
  temperature: 1,
  slope: 1,
  bias: 0,
  threshold: 0.5,
};

const NAMES = {
  window: "window",
  overlap: "overlap",
  max_answer_length: "maxAnswerLength",
  temperature: "temperature",
  slope: "slope",
  bias: "bias",
  threshold: "threshold",
} as const satisfies Record<string, keyof Calibration>;

/** The calibration that a qa_config.json says. */
export function readCalibration(values: unknown): Calibration {
  const allowed = Object.keys(NAMES);
  const given = values && typeof values === "object" ? Object.keys(values) : [];
  if (given.length !== allowed.length || !allowed.every((name) => given.includes(name)))
    throw new ConfigError(
      `qa_config.json has ${given.join(", ") || shown(values)}; it must have exactly ${allowed.join(", ")}`,
    );
  const calibration = { ...NEUTRAL };
  for (const [name, ours] of Object.entries(NAMES)) {
    const value = (values as Record<string, unknown>)[name];
    if (typeof value !== "number" || !Number.isFinite(value))
      throw new ConfigError(`qa_config.json: ${name} is ${shown(value)}; it must be a finite number`);
    calibration[ours] = value;
  }
  check(calibration);
  return calibration;
}

/** The probability that a document answers, from the log mass of its windows and the promise of each. */
export function answerable(calibration: Calibration, mass: readonly number[], promise: readonly number[]): number {
  const total = logSum(mass.map((value, place) => value + Math.log(promise[place]!)));
  return sigmoid(calibration.slope * total - calibration.bias);
}

/** 1 / (1 + exp(-x)) that does not overflow, infinities included. */
export function sigmoid(value: number): number {
  return value < 0 ? Math.exp(value - Math.log1p(Math.exp(value))) : Math.exp(-Math.log1p(Math.exp(-value)));
}

function check({ window, overlap, maxAnswerLength, temperature, slope, threshold }: Calibration): void {
  const whole = Number.isInteger(window) && Number.isInteger(overlap) && Number.isInteger(maxAnswerLength);
  if (!whole || window < 1 || overlap < 0 || maxAnswerLength < 1)
    throw new ConfigError(
      `qa_config.json: window is ${window}, overlap is ${overlap} and max_answer_length is ${maxAnswerLength}; ` +
        "they must be whole numbers from 1, 0 and 1 up",
    );
  if (temperature <= 0 || slope <= 0)
    throw new ConfigError(
      `qa_config.json: temperature is ${temperature} and slope is ${slope}; both must be above 0`,
    );
  if (threshold < 0 || threshold > 1)
    throw new ConfigError(`qa_config.json: threshold is ${threshold}; it must lie between 0 and 1`);
}
