/** Where this package's own files are: beside its module. */

import worker from "./worker?worker&url";
import type { Places } from "./load";

// Not for Vite to look at: the folder is put there by whoever ships.
export const here: Places = { worker, model: new URL(/* @vite-ignore */ "./model/", import.meta.url).href };
