/** Where this package's own files are: beside its module. */

import worker from "./worker?worker&url";
import type { Places } from "./load";

export const here: Places = { worker, model: new URL(/* @vite-ignore */ "./model/", import.meta.url).href };
