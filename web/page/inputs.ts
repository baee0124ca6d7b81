/** Everything that comes in: keys, clicks, files, what is pasted and what is dropped. */

import { element } from "./status";

export interface Deeds {
  ask(): void;
  step(by: 1 | -1): void;
  escape(): void;
  text(text: string): void;
  html(html: string): void;
  file(file: File): void;
  another(): void;
  retry(): void;
  readAll(): void;
}

export function listen(deeds: Deeds): void {
  buttons(deeds);
  keys(deeds);
  clipboard(deeds);
  drops(deeds);
}

function buttons(deeds: Deeds): void {
  const files = element<HTMLInputElement>("file");
  const draft = element<HTMLTextAreaElement>("draft");
  const click = (id: string, deed: () => void) => element(id).addEventListener("click", deed);
  element("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    deeds.ask();
  });
  click("stop", () => {
    deeds.escape();
    element("question").focus();
  });
  click("next", () => deeds.step(1));
  click("previous", () => deeds.step(-1));
  click("another", () => deeds.another());
  click("open", () => files.click());
  click("use", () => (draft.value.trim() ? deeds.text(draft.value) : draft.focus()));
  click("help", () => element<HTMLDialogElement>("keys").showModal());
  click("action", () => (element("action").dataset["does"] === "all" ? deeds.readAll() : deeds.retry()));
  files.addEventListener("change", () => {
    const file = files.files?.[0];
    files.value = ""; // the same file may be chosen again
    if (file) deeds.file(file);
  });
}

function keys(deeds: Deeds): void {
  const question = element<HTMLInputElement>("question");
  addEventListener("keydown", (event) => {
    if (event.isComposing || event.defaultPrevented || element<HTMLDialogElement>("keys").open) return;
    if (event.key === "Escape") {
      deeds.escape();
      return;
    }
    if (event.target === question && event.key === "Enter" && event.shiftKey) {
      event.preventDefault();
      deeds.step(-1);
      return;
    }
    if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    const shortcuts: Record<string, () => void> = {
      "/": () => question.select(),
      n: () => deeds.step(1),
      p: () => deeds.step(-1),
      o: () => element("file").click(),
      "?": () => element<HTMLDialogElement>("keys").showModal(),
    };
    const deed = shortcuts[event.key];
    if (!deed) return;
    event.preventDefault();
    deed();
  });
}

/** Pasting into a field is pasting; anywhere else, and into the empty sheet, it gives the page a text. */
function clipboard(deeds: Deeds): void {
  addEventListener("paste", (event) => {
    const draft = element<HTMLTextAreaElement>("draft");
    if (isTyping(event.target) && !(event.target === draft && !draft.value)) return;
    given(event.clipboardData, event, deeds);
  });
}

function drops(deeds: Deeds): void {
  const veil = element("veil");
  let depth = 0; // a drag enters and leaves every element that it crosses
  const lift = () => {
    depth = 0;
    veil.hidden = true;
  };
  addEventListener("dragenter", (event) => {
    if (!event.dataTransfer?.types.some((type) => type === "Files" || type.startsWith("text/"))) return;
    event.preventDefault();
    depth++;
    veil.hidden = false;
  });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("dragleave", () => {
    if (--depth <= 0) lift();
  });
  addEventListener("drop", (event) => {
    event.preventDefault();
    lift();
    given(event.dataTransfer, event, deeds);
  });
}

function given(data: DataTransfer | null, event: Event, deeds: Deeds): void {
  const file = data?.files[0];
  const html = data?.getData("text/html") ?? "";
  const text = data?.getData("text/plain") ?? "";
  if (!file && !html && !text.trim()) return;
  event.preventDefault();
  if (file) deeds.file(file);
  // What is copied from a page comes with its paragraphs and headings; from an editor it is text that wears colours.
  else if (/<(?:p|h[1-6]|li|td|article|section)\b/i.test(html)) deeds.html(html);
  else if (text.trim()) deeds.text(text);
  else deeds.html(html);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
}
