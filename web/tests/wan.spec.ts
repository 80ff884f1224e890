// Links of an emulated network: a node follows what a relay says of them.

import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "./fixture.ts";
import { BINARY, Node } from "./node.ts";

test("what a relay carries stands in a table above its signals", async ({ page }) => {
  const folder = await mkdtemp(join(tmpdir(), "foretop-wan-"));
  const stream = `unix:${folder}/stream`;
  const server = createServer((socket) => void socket.on("error", () => undefined).pipe(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const to = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const model = ["--model", "latency=200ms", "--publish", `connect:${stream}`];
  const relay = spawn(BINARY, ["wan", "relay", "--listen", "127.0.0.1:0", "--to", to, ...model], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const said = await new Promise<string>((resolve) => relay.stdout.once("data", (bytes: Buffer) => resolve(bytes.toString())));
  const client = connect(Number(/at 127\.0\.0\.1:(\d+)/.exec(said)?.[1]), "127.0.0.1");
  client.on("error", () => undefined).resume();
  const sending = setInterval(() => client.write(Buffer.alloc(10_000)), 50);
  const node = await Node.start("--only", "load.*", "--follow", `source:${stream}`);
  try {
    await page.goto(node.url);
    const there = page.getByRole("row", { name: "there" });
    await expect(there.getByRole("cell")).toHaveText([/^[1-9].* KiB\/s$/, /^[1-9].* KiB$/, "0 B", "0.00 1/s", /^[1-9].* (µs|ms)$/, /^[1-9].* (µs|ms)$/]);
    await expect(page.getByRole("row", { name: "back" })).toBeVisible();
    await there.getByRole("link").first().click();
    await expect(page.getByRole("heading", { name: /wan\.there\.rate$/ })).toBeVisible();
  } finally {
    clearInterval(sending);
    client.destroy();
    relay.kill();
    server.close();
    await node.dispose();
    await rm(folder, { recursive: true, force: true });
  }
});
