/** The files of this page: whether they are those of its manifest, and kept for when there is no network. */

interface Manifest {
  sha256: Record<string, string>;
}

/** Name -> hash of every file of the version that is shown, or null where the page is not served from a bundle. */
export async function manifest(): Promise<Manifest["sha256"] | null> {
  const response = await fetch("./manifest.json", { cache: "no-cache" }).catch(() => null);
  return response?.ok ? ((await response.json()) as Manifest).sha256 : null;
}

/**
 * Compare the programs that read with their hashes; the browser does it. The model's files are checked by the reader.
 */
export async function checkPrograms(files: Manifest["sha256"]): Promise<void> {
  const programs = Object.keys(files).filter((name) => /^[^/]+\.(?:js|wasm|css)$/.test(name) && !name.startsWith("pdf"));
  await Promise.all(
    programs.map(async (name) => {
      try {
        await fetch(`./${name}`, { integrity: `sha256-${base64(files[name]!)}` });
      } catch {
        throw new Error(`the file ${name} is not the file it should be, or cannot be fetched: put the page up again`);
      }
    }),
  );
}

/**
 * Keep all files for later. The worker that does so is named after the newest manifest, so that a new bundle gets a new
 * one, which is shown when no tab shows the old one any more.
 *
 * True when everything is kept; false where browsers keep nothing, such as on pages that are not served securely.
 */
export async function keep(): Promise<boolean> {
  if (!("serviceWorker" in navigator) || !globalThis.crypto?.subtle) return false;
  try {
    const newest = await fetch("./manifest.json?newest", { cache: "no-cache" });
    const digest = await crypto.subtle.digest("SHA-256", await newest.arrayBuffer());
    const version = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
    const registration = await navigator.serviceWorker.register(`./service-worker.js?manifest=${version}`);
    const worker = registration.installing ?? registration.waiting;
    if (!worker) return registration.active !== null;
    return await new Promise((resolve) => {
      const settle = () => {
        if (worker.state === "installed" || worker.state === "activated") resolve(true);
        else if (worker.state === "redundant") resolve(false);
      };
      worker.addEventListener("statechange", settle);
      settle();
    });
  } catch {
    return false; // forbidden by the browser or its owner; the page works all the same
  }
}

function base64(hexadecimal: string): string {
  const bytes = hexadecimal.match(/../g)!.map((pair) => String.fromCharCode(parseInt(pair, 16)));
  return btoa(bytes.join(""));
}
