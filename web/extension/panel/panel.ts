/** The side panel: one question field, and under it what became of the question in the tab that is in front. */

import { TabInquiry } from "./inquiry";
import { Model } from "./model";
import { isBusy } from "./state";
import { View } from "./view";

const form = document.querySelector<HTMLFormElement>("#ask")!;
const field = document.querySelector<HTMLTextAreaElement>("#question")!;
const title = document.querySelector<HTMLElement>("#page")!;

const model = new Model();
const inquiries = new Map<number, TabInquiry>();
let front: TabInquiry | undefined;

const view = new View(document.querySelector("#outcome")!, document.querySelector("#status")!, {
  stop: () => front?.stop(),
  again: () => ask(),
  readAll: () => ask("all"),
  guess: () => void front?.guess(),
  show: (number) => void front?.show(number),
  step: (by) => void front?.step(by),
});

/** Turn to a tab; every tab has its own question, and keeps it while others are in front. */
async function turnTo(tabId: number): Promise<void> {
  let inquiry = inquiries.get(tabId);
  if (!inquiry) {
    inquiry = new TabInquiry(tabId, model, (changed) => {
      if (changed === front) view.render(changed.state);
    });
    inquiries.set(tabId, inquiry);
    front = inquiry;
    // Kept in memory by the browser, so that a panel that was closed remembers what was asked; never on disk.
    const kept = (await chrome.storage.session.get(keyOf(tabId)))[keyOf(tabId)];
    if (typeof kept === "string") inquiry.question = kept;
    await inquiry.look();
  }
  front = inquiry;
  field.value = inquiry.question;
  view.render(inquiry.state);
  await name(tabId);
}

async function name(tabId: number): Promise<void> {
  title.textContent = (await chrome.tabs.get(tabId)).title ?? "";
}

function ask(read: "fast" | "all" = "fast"): void {
  const question = field.value.trim();
  if (!front || !question) return void field.focus();
  void front.ask(question, read);
  for (const [tabId, inquiry] of inquiries)
    if (inquiry === front) void chrome.storage.session.set({ [keyOf(tabId)]: question });
}

/** As in the browser's own search: Enter asks, and once there are answers, goes to the next. */
function enter(backwards: boolean): void {
  const isAnswered = front?.state.kind === "answers" && front.question === field.value.trim();
  if (isAnswered) void front!.step(backwards ? -1 : 1);
  else ask();
}

function escape(): void {
  if (front && isBusy(front.state)) front.stop();
  else {
    field.value = "";
    field.focus();
    void front?.clear();
  }
}

function press(event: KeyboardEvent): void {
  const { key, shiftKey } = event;
  const isSearchKey = key === "F3" || (key.toLowerCase() === "g" && (event.ctrlKey || event.metaKey));
  const isInField = event.target === field;
  if (event.isComposing) return; // Enter ends a word of Chinese or Japanese, not the question
  if (key === "Escape") escape();
  else if (isSearchKey) void front?.step(shiftKey ? -1 : 1);
  else if (key === "Enter" && isInField) enter(shiftKey);
  else if (key === "/" && !isInField) field.select();
  else if ((key === "ArrowDown" || key === "ArrowUp") && (!isInField || front?.state.kind === "answers"))
    void front?.step(key === "ArrowDown" ? 1 : -1);
  else return;
  event.preventDefault();
}

function keyOf(tabId: number): string {
  return `question ${tabId}`;
}

async function open(): Promise<void> {
  const { id: windowId } = await chrome.windows.getCurrent();
  document.addEventListener("keydown", press);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  chrome.commands.onCommand.addListener((command) => void front?.step(command === "previous-answer" ? -1 : 1));
  chrome.action.onClicked.addListener((tab) => {
    if (tab.windowId !== windowId || tab.id === undefined) return;
    field.focus();
    void inquiries.get(tab.id)?.invite();
    void name(tab.id);
  });
  chrome.tabs.onActivated.addListener((info) => {
    if (info.windowId === windowId) void turnTo(info.tabId);
  });
  chrome.tabs.onUpdated.addListener((tabId, { status }) => {
    if (status === "loading") void inquiries.get(tabId)?.leave();
    else if (status) void inquiries.get(tabId)?.look();
    if (status && inquiries.get(tabId) === front) void name(tabId);
  });
  chrome.tabs.onRemoved.addListener((tabId) => {
    inquiries.get(tabId)?.stop();
    inquiries.delete(tabId);
    void chrome.storage.session.remove(keyOf(tabId));
  });
  const [tab] = await chrome.tabs.query({ active: true, windowId });
  if (tab?.id !== undefined) await turnTo(tab.id);
  field.select();
  model.start().catch(() => undefined); // whoever asks hears of it
}

void open();
