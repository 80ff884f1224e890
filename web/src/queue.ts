// Doing asynchronous work a few at a time, or one at a time with the last wish kept.

/** Runs at most `limit` tasks at once, the others in the order in which they came. */
export class Queue {
  readonly #limit: number;
  #nRunning = 0;
  readonly #waiting: (() => Promise<void>)[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Adds a task, which must not throw. */
  add(task: () => Promise<void>): void {
    this.#waiting.push(task);
    this.#next();
  }

  #next(): void {
    if (this.#nRunning >= this.#limit) return;
    const task = this.#waiting.shift();
    if (task === undefined) return;
    this.#nRunning += 1;
    void task().finally(() => {
      this.#nRunning -= 1;
      this.#next();
    });
  }
}

/** Runs `work` again and again as asked, never twice at once; wishes during a run become one run after it. */
export class Repeater {
  readonly #work: () => Promise<void>;
  readonly #restMs: number;
  #isRunning = false;
  #isWanted = false;

  /** `work` must not throw. `restMs` is left between two runs. */
  constructor(work: () => Promise<void>, restMs: number) {
    this.#work = work;
    this.#restMs = restMs;
  }

  /** Runs at once, or as soon as the present run is over. */
  run(): void {
    this.#isWanted = true;
    if (!this.#isRunning) void this.#loop();
  }

  async #loop(): Promise<void> {
    this.#isRunning = true;
    try {
      while (this.#isWanted) {
        this.#isWanted = false;
        await this.#work();
        await new Promise((resolve) => setTimeout(resolve, this.#restMs));
      }
    } finally {
      // Should the work throw after all, the next wish finds it startable.
      this.#isRunning = false;
    }
  }
}
