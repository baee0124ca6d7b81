/** Which version of the package this is. */

import { version as value } from "../package.json";

// A constant of its own, so that the published types do not point at a file that is not beside them.
export const version: string = value;
