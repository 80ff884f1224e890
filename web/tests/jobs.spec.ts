// Jobs of MPI programs: found, looked inside of, and told as ended when their processes are gone.

import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, expectLink, test as base, tile } from "./fixture.ts";
import { BINARY, Node } from "./node.ts";

/** A node and a job that it finds. */
interface World {
  node: Node;
  folder: string;
  /** While it is there, hops take three times as long. */
  slow: string;
  kill(): Promise<void>;
}

const test = base.extend<{ world: World }>({
  world: async ({}, use) => {
    const root = await mkdtemp(join(tmpdir(), "foretop-jobs-"));
    const folder = join(root, "heat-1");
    const slow = join(root, "slow");
    const args = ["internal", "mpi-job", folder, "--straggler", "5", "--slow", slow, "--broadcast"];
    const job = spawn(BINARY, args, { stdio: ["ignore", "pipe", "inherit"] });
    await new Promise((resolve, reject) => {
      job.stdout.once("data", resolve);
      job.once("exit", (code) => reject(new Error(`the job ended with ${code}`)));
    });
    const node = await Node.start("--mpi-jobs", root);
    await use({ node, folder, slow, kill: () => killed(job) });
    await node.dispose();
    await killed(job);
    await rm(root, { recursive: true, force: true });
  },
});

async function killed(job: ChildProcess): Promise<void> {
  if (job.exitCode !== null || job.signalCode !== null) return;
  const ended = new Promise((resolve) => job.once("exit", resolve));
  job.kill("SIGKILL");
  await ended;
}

test("a job is reached from the signals, and its late rank is named and drawn", async ({ page, world }) => {
  await page.goto(world.node.url);
  await page.getByRole("link", { name: "MPI jobs (1)" }).click();
  const row = page.getByRole("row", { name: "./heat" });
  await expect(row).toContainText("running");
  // Rates take two answers.
  await expect(row.locator("td").nth(3)).toHaveText(/^\d/);
  await row.getByRole("link").click();
  await expect(page.locator(".culprit")).toHaveText(/^Rank 5 keeps the others waiting: at right it is last in 100 % of calls, .* 400 µs/);
  await expect(page.locator(".job h2")).toHaveText("./heat");
  const tree = page.getByRole("img", { name: "last arrivals in tree small" });
  await expect(tree.locator(".leaf")).toHaveCount(8);
  await expect(tree.locator(".leaf.heaviest")).toHaveText("rank 5");
  // Ranks of both hosts wait for the late one about as long: those of its own at the node right, the others at the root.
  await expect(page.locator(".hints li").first()).toHaveText(/arrival wait at (right|root).*last to arrive.*rank 5/);
  await expect(page.getByRole("region", { name: "operations" }).getByRole("row")).toHaveText([/^operation/, /^MPI_Allreduce/, /^MPI_Bcast/, /^MPI_Sendrecv/]);
  await expect(page.getByRole("region", { name: "ranks" }).locator("tbody tr")).toHaveCount(8);
  await expect(page.locator(".title .value b")).toHaveText(/^[1-9]/);

  const map = page.getByRole("img", { name: "pathmap of tree small" });
  await expect(map.locator(".track")).toHaveCount(8);
  const widest = () => map.locator(".track.slowest").first().getAttribute("points");
  const before = await widest();
  await page.getByRole("radio", { name: "drawn" }).check();
  await expect.poll(widest).not.toBe(before);
  // The first hint is to look at the waits.
  await expect(map.locator(".hotspot")).toHaveCount(1);
  await expect(page.locator(".key .hotspot")).toHaveText(/^to look at first: arrival wait at (right|root)$/);

  await page.reload();
  await expect(page.locator(".culprit")).toHaveText(/^Rank 5/);
  await page.keyboard.press("Escape");
  await expect(row).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(tile(page, "load.1m")).toBeVisible();
  await expect(page.locator(".jobs")).toBeHidden();
});

test("a hop slower than its forecast is marked with both times", async ({ page, world }) => {
  await page.goto(`${world.node.url}#/mpi/heat-1`);
  // Stages are compared from the eleventh second on, or a little later where the machine is busy.
  const watched = async () => ((await (await page.request.get(`${world.node.url}api/v1/mpi/jobs/heat-1`)).json()) as { watched_seconds: number }).watched_seconds;
  await expect.poll(watched, { timeout: 30_000 }).toBeGreaterThan(15);
  await expect(page.locator(".arrivals .edge.slow")).toHaveCount(0);
  await writeFile(world.slow, "");
  await expect(page.locator(".arrivals .edge.slow")).toHaveCount(1);
  await expect(page.locator(".arrivals .late")).toHaveText(/^hop [\d.]+ µs, not 1[\d.]+ µs$/);
  // Four ranks go over the hop, down and up.
  await expect(page.locator(".pathmap .slow")).toHaveCount(8);
  const list = page.getByRole("list", { name: "slower than expected" });
  await expect(list).toHaveText(/^hop of right at root: [\d.]+ µs, slower than the 1[\d.]+ µs expected, at most [\d.]+ µs/);
});

test("calls whose data go another way are shown by themselves", async ({ page, world }) => {
  await page.goto(`${world.node.url}#/mpi/heat-1`);
  await expect(page.locator(".culprit")).toHaveText(/^Rank 5/);
  await page.getByRole("radio", { name: "from a root: MPI_Bcast" }).check();
  await expect(page.locator(".culprit")).toHaveText(/^Data come from a root/);
  await expect(page.locator(".pathmap")).toContainText("up from the root →");
  await page.getByRole("radio", { name: "to all: MPI_Allreduce" }).check();
  await expect(page.locator(".culprit")).toHaveText(/^Rank 5/);
});

test("a job that was killed is shown as ended, with all that was seen", async ({ page, world }) => {
  await page.goto(`${world.node.url}#/mpi/heat-1`);
  await expect(page.locator(".culprit")).toHaveText(/^Rank 5/);
  await world.kill();
  await expect(page.locator(".job .sentence")).toHaveText(/^ended, 8 ranks/);
  await expect(page.locator(".culprit")).toHaveText(/^Rank 5/);
});

test("a broken tree file is told, and the calls are shown all the same", async ({ page, world }) => {
  await writeFile(join(world.folder, "tree.toml"), "format = 1\n[[host]]\nname = 7\n");
  await page.goto(`${world.node.url}#/mpi/heat-1`);
  await expect(page.getByRole("list", { name: "problems of the job" })).toContainText("tree.toml: line 3");
  await expect(page.getByRole("row", { name: "MPI_Allreduce" })).toBeVisible();
  await expect(page.locator(".arrivals")).toHaveCount(0);
});

test("a phone shows a job without scrolling sideways", async ({ page, world }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${world.node.url}#/mpi/heat-1`);
  await expect(page.locator(".pathmap")).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
});

test("without a job there is no link, and an unknown job is said to be one", async ({ page }) => {
  const root = await mkdtemp(join(tmpdir(), "foretop-jobs-"));
  const node = await Node.start("--mpi-jobs", root);
  try {
    await page.goto(node.url);
    await expectLink(page, /^live$/);
    await expect(tile(page, "load.1m")).toBeVisible();
    await expect(page.getByRole("link", { name: /MPI/ })).toBeHidden();
    await page.goto(`${node.url}#/mpi/none`);
    await expect(page.locator(".jobs .missing")).toHaveText(/^there is no job `none`/);
  } finally {
    await node.dispose();
    await rm(root, { recursive: true, force: true });
  }
});
