// Asking the node again and again for what a view shows.

import { ApiError } from "./api.ts";
import { setText } from "./dom.ts";

/** Asks from `start` to `stop`, while the page is seen. `note` says what the last answer has to be said of, or why there is none. */
export class Poll {
  readonly #note: HTMLElement;
  readonly #everyMs: number;
  readonly #ask: (abort: AbortSignal) => Promise<string>;
  readonly #onVisible = () => {
    if (!document.hidden && this.#abort !== null) this.start();
  };
  /** Of what is under way; `null` while nobody asks. */
  #abort: AbortController | null = null;

  /** `ask` shows the answer unless it was aborted, and gives what there is to say of it. */
  constructor(note: HTMLElement, everyMs: number, ask: (abort: AbortSignal) => Promise<string>) {
    this.#note = note;
    this.#everyMs = everyMs;
    this.#ask = ask;
    document.addEventListener("visibilitychange", this.#onVisible);
  }

  /** Asks at once, and from then on; what is under way is given up. */
  start(): void {
    this.stop();
    this.#abort = new AbortController();
    void this.#run(this.#abort.signal);
  }

  stop(): void {
    this.#abort?.abort();
    this.#abort = null;
  }

  /** Stops for good. */
  close(): void {
    this.stop();
    document.removeEventListener("visibilitychange", this.#onVisible);
  }

  async #run(abort: AbortSignal): Promise<void> {
    while (!abort.aborted && !document.hidden) {
      let note: string;
      try {
        note = await this.#ask(abort);
      } catch (error) {
        note = error instanceof ApiError ? error.message : "no answer";
      }
      if (abort.aborted) return;
      setText(this.#note, note);
      await new Promise((resolve) => setTimeout(resolve, this.#everyMs));
    }
  }
}
