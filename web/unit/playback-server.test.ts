// The server of media and slow links: what it refuses, and how fast it is.

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";

import { RENDITIONS } from "../playback/media.mjs";
import { serve } from "../playback/server.mjs";

const SEGMENT_BYTES = 2_000;

let folder: string;
let server: { url: string; close(): void };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "foretop-playback-"));
  for (const bits of RENDITIONS) {
    await mkdir(join(folder, String(bits)), { recursive: true });
    await writeFile(join(folder, String(bits), "list.m3u8"), "#EXTM3U\n#EXTINF:1.0,\n1.m4s\n#EXTINF:1.0,\n2.m4s\n");
    for (const n of [1, 2, 90]) await writeFile(join(folder, String(bits), `${n}.m4s`), Buffer.alloc(SEGMENT_BYTES, n));
  }
  server = await serve({ pages: join(folder, "32000"), media: folder });
});

afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true });
});

async function post(path: string, body: string): Promise<Response> {
  return fetch(new URL(path, server.url), { method: "POST", body });
}

async function link(trace: unknown, isLive = false): Promise<string> {
  const response = await post("links", JSON.stringify({ trace, isLive }));
  return new URL(((await response.json()) as { path: string }).path, server.url).href;
}

it("refuses traces that are none, and says what one is", async () => {
  for (const trace of [[], [[0, 1]], [[1, -1]], [[1, "fast"]], [[NaN, 1]], "fast", null, [1], [[1e9, 1]]]) {
    const response = await post("links", JSON.stringify({ trace }));
    expect(response.status, JSON.stringify(trace)).toBe(400);
    expect(await response.text()).toContain("pairs of seconds and bits per second");
  }
  expect((await post("links", "{")).status).toBe(400);
  expect((await post("links", "null")).status).toBe(400);
  expect((await post("links", " ".repeat(2 << 20))).status).toBe(413);
});

it("hands out nothing beside its folders", async () => {
  const path = new URL(await link([[1, 1e9]])).pathname;
  for (const inside of ["../../../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "32000/9.m4s"]) {
    // `fetch` would tidy the path.
    const status = await new Promise((resolve) => {
      request(new URL(server.url), { path: path + inside }, (response) => resolve(response.resume().statusCode)).end();
    });
    expect(status, inside).toBe(404);
  }
  expect((await fetch(new URL("links/99/hls.m3u8", server.url))).status).toBe(404);
  expect((await fetch(server.url, { method: "DELETE" })).status).toBe(405);
});

it("sends ranges, and refuses those that are not there", async () => {
  const href = `${await link([[1, 1e9]])}32000/1.m4s`;
  const range = async (text: string) => fetch(href, { headers: { Range: text } });
  const part = await range("bytes=10-19");
  expect([part.status, part.headers.get("content-range"), (await part.arrayBuffer()).byteLength]).toEqual([206, "bytes 10-19/2000", 10]);
  expect((await (await range("bytes=1990-")).arrayBuffer()).byteLength).toBe(10);
  expect((await range("bytes=2000-")).status).toBe(416);
});

it("has no segment of a live medium before it is made", async () => {
  const path = await link([[1, 1e9]], true);
  expect((await fetch(`${path}32000/1.m4s`)).status).toBe(200);
  expect((await fetch(`${path}32000/90.m4s`)).status).toBe(404);
});

it("sends no faster than the link, nothing while it carries nothing, and the rest once it does", async () => {
  const path = await link([[3_600, 0]]);
  const began = performance.now();
  const response = await fetch(`${path}32000/1.m4s`);
  const body = response.body!.getReader();
  const first = body.read();
  // 16,000 bits take a tenth of a second at this rate, and a slow machine only makes it longer.
  await post(path, JSON.stringify({ trace: [[3_600, 160_000]] }));
  let bytes = (await first).value?.length ?? 0;
  expect(bytes).toBeLessThan(SEGMENT_BYTES + 1);
  for (let part = await body.read(); !part.done; part = await body.read()) bytes += part.value.length;
  expect(bytes).toBe(SEGMENT_BYTES);
  expect(performance.now() - began).toBeGreaterThan(80);
});
