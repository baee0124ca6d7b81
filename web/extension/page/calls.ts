/** What the panel may ask of a page: the calls of the script that is put into it. */

/** Characters of the text that a page gave out. */
export interface Stretch {
  start: number;
  end: number;
}

export interface PageReport {
  text: string;
  /** How many frames of other sites there are, which may not be read. */
  closedFrames: number;
  /** The document's type, such as text/html. */
  kind: string;
  milliseconds: number;
}

export interface PageCalls {
  /** The text of the page as it is now. */
  read(): Promise<PageReport>;
  /** Colour stretches of that text, and scroll to one; "changed" if the page no longer has all of them. */
  show(stretches: readonly Stretch[], current: number): "shown" | "changed";
  clear(): void;
}
