/** The side panel of a real Chromium. It is no page to Playwright, so it is spoken to in the browser's own protocol. */

import type { CDPSession } from "playwright-core";

interface Reply {
  id?: number;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { message: string };
}

const KEYS: Record<string, { code: string; windowsVirtualKeyCode: number; text?: string }> = {
  Enter: { code: "Enter", windowsVirtualKeyCode: 13, text: "\r" },
  Escape: { code: "Escape", windowsVirtualKeyCode: 27 },
  ArrowDown: { code: "ArrowDown", windowsVirtualKeyCode: 40 },
  ArrowUp: { code: "ArrowUp", windowsVirtualKeyCode: 38 },
  F3: { code: "F3", windowsVirtualKeyCode: 114 },
  Tab: { code: "Tab", windowsVirtualKeyCode: 9 },
};
const SHIFT = 8;

export class Panel {
  private last = 0;
  private readonly waiting = new Map<number, (reply: Reply) => void>();
  /** What the panel complained about: errors, broken rules of its policy. */
  readonly complaints: string[] = [];

  private constructor(
    private readonly browser: CDPSession,
    private readonly sessionId: string,
  ) {
    browser.on("Target.receivedMessageFromTarget", (event) => {
      if (event.sessionId === sessionId) this.hear(JSON.parse(event.message) as Reply);
    });
  }

  static async attach(browser: CDPSession, targetId: string): Promise<Panel> {
    const { sessionId } = await browser.send("Target.attachToTarget", { targetId, flatten: false });
    const panel = new Panel(browser, sessionId);
    for (const domain of ["Runtime", "Log", "Page"]) await panel.send(`${domain}.enable`);
    return panel;
  }

  async send(method: string, params: object = {}): Promise<Record<string, unknown>> {
    const id = ++this.last;
    const reply = new Promise<Reply>((resolve) => this.waiting.set(id, resolve));
    const message = JSON.stringify({ id, method, params });
    await this.browser.send("Target.sendMessageToTarget", { sessionId: this.sessionId, message });
    const { error, result } = await reply;
    if (error) throw new Error(`${method}: ${error.message}`);
    return result!;
  }

  /** The value of an expression in the panel. */
  async evaluate(expression: string): Promise<unknown> {
    const reply = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (reply["exceptionDetails"]) throw new Error(JSON.stringify(reply["exceptionDetails"]));
    return (reply["result"] as { value?: unknown }).value ?? null;
  }

  async press(key: string, shift: boolean): Promise<void> {
    const known = KEYS[key];
    if (!known) throw new Error(`there is no key ${key}; the keys are ${Object.keys(KEYS).join(", ")}`);
    const event = { key, modifiers: shift ? SHIFT : 0, ...known };
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", ...event });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...event, text: undefined });
  }

  async type(text: string): Promise<void> {
    await this.evaluate(`{ const field = document.querySelector("#question"); field.focus(); field.select(); }`);
    await this.send("Input.insertText", { text });
  }

  private hear(reply: Reply): void {
    if (reply.id !== undefined) {
      this.waiting.get(reply.id)?.(reply);
      this.waiting.delete(reply.id);
      return;
    }
    const entry = reply.params?.["entry"] as { level: string } | undefined;
    if (reply.method === "Runtime.exceptionThrown" || (reply.method === "Log.entryAdded" && entry?.level === "error"))
      this.complaints.push(JSON.stringify(reply.params));
  }
}
