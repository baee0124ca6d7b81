/** The drop-in for tfjs-models/qna as a module: `import * as qna from "pocketbert/qna"`. */

import { here } from "../reader/here";
import { type ModelConfig, type QuestionAndAnswer, loadModel } from "./qna";

/** Load the model beside this script, or another one. */
export function load(config?: ModelConfig): Promise<QuestionAndAnswer> {
  return loadModel(config, here);
}

export type { Answer, ModelConfig, QuestionAndAnswer } from "./qna";
export { version } from "../version";
