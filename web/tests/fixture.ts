// What every browser test has: a node, and a page that is watched for requests elsewhere and for errors.

import { expect, test as base, type Locator, type Page } from "@playwright/test";

import { Node } from "./node.ts";

interface PerTest {
  /** Fails the test afterwards if the page asked anyone but a node, broke its own policy, or threw. */
  watched: void;
}

interface PerWorker {
  /** A node that tests share; each test that pushes signals names them itself. */
  node: Node;
}

export const test = base.extend<PerTest, PerWorker>({
  node: [
    // Playwright reads the first parameter's pattern to learn what a fixture needs.
    async ({}, use) => {
      const node = await Node.start();
      await use(node);
      await node.dispose();
    },
    { scope: "worker" },
  ],
  watched: [
    async ({ page }, use) => {
      const requests: string[] = [];
      const faults: string[] = [];
      page.on("request", (request) => requests.push(request.url()));
      page.on("pageerror", (error) => faults.push(String(error)));
      page.on("console", (message) => {
        if (/Content.Security.Policy|TrustedHTML|TrustedScript/i.test(message.text())) faults.push(message.text());
      });
      await use();
      const home = new URL(page.url()).origin;
      expect(requests.length).toBeGreaterThan(0);
      expect(requests.filter((url) => new URL(url).origin !== home)).toEqual([]);
      expect(faults).toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

/** The small multiple of a signal, in its group. */
export function tile(page: Page, id: string): Locator {
  return page.locator(`.body .tile[data-signal=${JSON.stringify(id)}]`);
}

/** The large drawing. */
export function chart(page: Page): Locator {
  return page.locator(".chart");
}

/** A number in a `data-` attribute; NaN where there is none. */
export async function figure(locator: Locator, name: string): Promise<number> {
  const text = await locator.getAttribute(`data-${name}`);
  return text === null || text === "" ? Number.NaN : Number(text);
}

/** Waits until the connection is in this state. */
export async function expectLink(page: Page, state: RegExp): Promise<void> {
  await expect(page.locator("html")).toHaveAttribute("data-link", state);
}

/** Values that no model takes for a constant, the same on every run. */
export function wave(nSamples: number): number[] {
  return Array.from({ length: nSamples }, (_, idx) => 50 + 10 * Math.sin(idx / 3) + 4 * Math.sin(idx * 1.7));
}
