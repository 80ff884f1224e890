// The live connection to the node: reads its events, notices when it is gone, and comes back by itself.

import { EventParser, type ServerEvent } from "./sse.ts";
import { ApiError } from "./api.ts";

/** How it stands with the connection. `since` is when the node was last heard. */
export type LinkState =
  | { kind: "connecting" }
  | { kind: "live" }
  | { kind: "reconnecting"; sinceMs: number }
  | { kind: "gone"; sinceMs: number; why: string };

export interface LinkOptions {
  open(abort: AbortSignal): Promise<ReadableStream<Uint8Array>>;
  /** Whether a person is being asked for the token; then silence is no sign of a dead connection. */
  isAsking(): boolean;
  onEvent(event: ServerEvent): void;
  onState(state: LinkState): void;
}

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 8_000;
/** A node sends at least a comment every 15 s; three missed are a dead connection. */
const SILENCE_MS = 45_000;
/** Up to here an interruption is one, afterwards the node is called gone. */
const GONE_AFTER_MS = 10_000;

/** How long to wait before attempt `n_failed + 1`: doubling, up to 8 s. */
export function retryDelayMs(nFailed: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** Math.min(nFailed, 16), LONGEST_DELAY_MS);
}

/** What to call a connection that has been down since `sinceMs`. */
export function downState(sinceMs: number, nowMs: number, why: string): LinkState {
  return nowMs - sinceMs < GONE_AFTER_MS ? { kind: "reconnecting", sinceMs } : { kind: "gone", sinceMs, why };
}

/** Keeps one connection to the node's events, for as long as the page is open. */
export class Link {
  readonly #options: LinkOptions;
  #heardMs = Date.now();
  #nFailed = 0;
  #wake: (() => void) | null = null;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /** Never resolves. */
  async run(): Promise<never> {
    this.#options.onState({ kind: "connecting" });
    window.addEventListener("online", () => this.retryAtOnce());
    document.addEventListener("visibilitychange", () => this.retryAtOnce());
    for (;;) {
      const why = await this.#readUntilEnd();
      this.#options.onState(downState(this.#heardMs, Date.now(), why));
      await this.#pause(retryDelayMs(this.#nFailed));
      this.#nFailed += 1;
    }
  }

  /** Ends the pause before the next attempt, if there is one. */
  retryAtOnce(): void {
    this.#wake?.();
  }

  async #readUntilEnd(): Promise<string> {
    const abort = new AbortController();
    let heardMs = Date.now();
    const silence = setInterval(() => {
      if (this.#options.isAsking()) heardMs = Date.now();
      else if (Date.now() - heardMs > SILENCE_MS) abort.abort();
    }, SILENCE_MS / 9);
    try {
      const stream = await this.#options.open(abort.signal);
      const parser = new EventParser();
      const decoder = new TextDecoder();
      const reader = stream.getReader();
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        heardMs = Date.now();
        this.#heardMs = heardMs;
        parser.push(decoder.decode(read.value, { stream: true })).forEach((event) => this.#take(event));
      }
      return "the node closed the connection";
    } catch (error) {
      return error instanceof ApiError ? error.message : "no answer";
    } finally {
      clearInterval(silence);
      abort.abort();
    }
  }

  #take(event: ServerEvent): void {
    if (event.event === "hello") {
      this.#nFailed = 0;
      this.#options.onState({ kind: "live" });
    }
    this.#options.onEvent(event);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
