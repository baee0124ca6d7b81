/** The few calls of Chrome that the extension makes; more than these it cannot even name. */

declare namespace chrome {
  interface Event<F extends (...values: never[]) => void> {
    addListener(listener: F): void;
  }

  interface Port {
    onDisconnect: Event<() => void>;
    disconnect(): void;
  }

  interface Tab {
    id?: number;
    /** Only there while the extension may read the tab. */
    url?: string;
    title?: string;
    windowId: number;
  }

  const action: { onClicked: Event<(tab: Tab) => void> };
  const commands: { onCommand: Event<(command: string) => void> };
  const dom: { openOrClosedShadowRoot(element: HTMLElement): ShadowRoot | null } | undefined;
  const runtime: { getURL(path: string): string; onConnect: Event<(port: Port) => void> };
  const sidePanel: { open(options: { tabId: number }): Promise<void> };
  const windows: { getCurrent(): Promise<{ id: number }> };

  const storage: {
    session: {
      get(key: string): Promise<Record<string, unknown>>;
      set(items: Record<string, unknown>): Promise<void>;
      remove(key: string): Promise<void>;
    };
  };

  const tabs: {
    get(tabId: number): Promise<Tab>;
    query(filter: { active: boolean; windowId: number }): Promise<Tab[]>;
    connect(tabId: number, options: { frameId: number }): Port;
    onActivated: Event<(info: { tabId: number; windowId: number }) => void>;
    onUpdated: Event<(tabId: number, change: { status?: string; url?: string }) => void>;
    onRemoved: Event<(tabId: number) => void>;
  };

  const scripting: {
    executeScript<A extends unknown[], R>(
      options: { target: Target; injectImmediately?: boolean } & (
        | { files: string[] }
        | { func: (...values: A) => R; args: A }
      ),
    ): Promise<{ documentId: string; result?: Awaited<R> }[]>;
  };

  type Target = { tabId: number } & ({ frameIds: number[] } | { documentIds: string[] });
}
