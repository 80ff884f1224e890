// A real node for the tests: starts the binary on a free port, feeds it, kills it.

import { execFile, spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import type { SeriesInfo } from "../src/wire.ts";

/** What is tested. */
export const BINARY = process.env["FORETOP_BIN"] ?? join(import.meta.dirname, "../../target/release/foretop");
const ADDRESS = /http:\/\/(127\.0\.0\.1:\d+)\//;

/** A write beyond the limit on the size of files shall fail, as on a full disk, and not end the process. */
const IGNORING_XFSZ = ["-c", 'trap "" XFSZ; exec "$@"', "sh"];

/** A running `foretop up` with a data directory of its own. */
export class Node {
  /** `127.0.0.1:PORT`, the same over restarts. */
  address = "127.0.0.1:0";
  readonly #folder: string;
  readonly #extra: string[];
  #process: ChildProcess | null = null;

  private constructor(folder: string, extra: string[]) {
    this.#folder = folder;
    this.#extra = extra;
  }

  /** Starts a node with these arguments after the usual ones. */
  static async start(...extra: string[]): Promise<Node> {
    const node = new Node(await mkdtemp(join(tmpdir(), "foretop-page-")), extra);
    await node.run();
    return node;
  }

  get url(): string {
    return `http://${this.address}/`;
  }

  /** Starts the binary where it was before, and waits until it says where it listens. */
  async run(): Promise<void> {
    const command = [BINARY, "up", "--listen", this.address, "--data-dir", this.#folder, ...this.#extra];
    const child = spawn("sh", [...IGNORING_XFSZ, ...command], { stdio: ["ignore", "pipe", "pipe"] });
    this.#process = child;
    this.address = await new Promise<string>((resolve, reject) => {
      let said = "";
      const listen = (bytes: Buffer) => {
        said += bytes.toString();
        const address = ADDRESS.exec(said)?.[1];
        if (address !== undefined) resolve(address);
      };
      child.stdout.on("data", listen);
      child.stderr.on("data", (bytes: Buffer) => (said += bytes.toString()));
      child.on("error", reject);
      child.on("exit", (code) => reject(new Error(`${BINARY} ended with ${code} before it listened: ${said}`)));
    });
  }

  /** Ends it as a power cut would. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (child === null || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
    this.#process = null;
  }

  /** Has every write to a file fail from here on, or succeed again. */
  async setDisk(state: "full" | "free"): Promise<void> {
    const limit = state === "full" ? "1:unlimited" : "unlimited:unlimited";
    await promisify(execFile)("prlimit", ["--pid", String(this.#process?.pid), `--fsize=${limit}`]);
  }

  /** Ends it and removes its data. */
  async dispose(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** The JSON of a GET under `api/v1/`. */
  async get<T>(path: string): Promise<T> {
    const response = await fetch(`${this.url}api/v1/${path}`);
    if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  /** Waits until a signal has this many samples: looks at every tick. */
  async reach(id: string, nSamples: number): Promise<void> {
    const response = await fetch(`${this.url}api/v1/events?series=${encodeURIComponent(id)}&leads=1`);
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      if (!decoder.decode(bytes).includes("event: tick")) continue;
      const { n_samples } = await this.get<SeriesInfo>(`series/${encodeURIComponent(id)}`);
      if (n_samples >= nSamples) return;
    }
  }

  /** Makes a signal of one sample per step that ends now, and feeds it with these values. */
  async push(id: string, values: (number | null)[], unit = "ms", stepSeconds = 1): Promise<void> {
    await this.#post("series", { id, unit, sentence: `Pushed by a test: ${id}`, step: `${stepSeconds}s` });
    const lastMs = Math.floor(Date.now() / 1_000) * 1_000;
    const samples = values.map((value, idx) => ({
      time: new Date(lastMs - (values.length - 1 - idx) * stepSeconds * 1_000).toISOString(),
      value,
    }));
    await this.#post(`series/${encodeURIComponent(id)}/samples`, { samples });
  }

  /** Feeds the next sample of a signal. */
  async feed(id: string, value: number): Promise<void> {
    await this.#post(`series/${encodeURIComponent(id)}/samples`, { samples: [{ value }] });
  }

  async #post(path: string, body: unknown): Promise<void> {
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(`${this.url}api/v1/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
  }
}
