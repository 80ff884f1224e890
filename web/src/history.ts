// Evenly spaced samples that grow at the end. Pure: moments are milliseconds, given by the caller.

/** A sample, or `null` for a gap. */
export type Sample = number | null;

/** The last `capacity` samples of one signal; a slot that nothing was put in is a gap. */
export class History {
  readonly stepMs: number;
  readonly capacity: number;
  #startMs = 0;
  #values: Sample[] = [];

  constructor(stepMs: number, capacity: number) {
    this.stepMs = stepMs;
    this.capacity = capacity;
  }

  /** The moment of the first slot; 0 while empty. */
  get startMs(): number {
    return this.#startMs;
  }

  /** The moment of the last slot; `null` while empty. */
  get endMs(): number | null {
    return this.#values.length === 0 ? null : this.timeOf(this.#values.length - 1);
  }

  /** The slots from `startMs` on. */
  get values(): readonly Sample[] {
    return this.#values;
  }

  /** The moment of slot `idx`. */
  timeOf(idx: number): number {
    return this.#startMs + idx * this.stepMs;
  }

  /** The last sample that is no gap, with its moment. */
  lastSample(): { timeMs: number; value: number } | null {
    for (let idx = this.#values.length - 1; idx >= 0; idx -= 1) {
      const value = this.#values[idx];
      if (value !== null && value !== undefined) return { timeMs: this.timeOf(idx), value };
    }
    return null;
  }

  /**
   * Puts a sample into the slot nearest to `timeMs`; the slots skipped on the way become gaps.
   *
   * A sample from before the first slot is left out. One that is further ahead than the capacity starts over: nothing
   * of what was there would be kept.
   */
  put(timeMs: number, value: Sample): void {
    const idx = Math.round((timeMs - this.#startMs) / this.stepMs);
    if (this.#values.length === 0 || idx >= this.#values.length + this.capacity) {
      this.#startMs = timeMs;
      this.#values = [value];
      return;
    }
    if (idx < 0) return;
    while (this.#values.length < idx) this.#values.push(null);
    this.#values[idx] = value;
    this.#trim();
  }

  /**
   * Lays fetched samples under and over those here, on the grid of the fetched ones.
   *
   * A fetched sample replaces the one here; a fetched gap does not, for the stream may have brought what the store had
   * not yet written. Gaps at either end say only that the range asked for began earlier or went on.
   */
  merge(startMs: number, values: readonly Sample[]): void {
    const first = values.findIndex((value) => value !== null);
    if (first < 0) return;
    const fetched = values.slice(first, values.findLastIndex((value) => value !== null) + 1);
    const before = { startMs: this.#startMs, values: this.#values };
    this.#startMs = startMs + first * this.stepMs;
    this.#values = fetched;
    before.values.forEach((value, idx) => {
      if (value !== null) this.#fill(before.startMs + idx * this.stepMs, value);
    });
    this.#trim();
  }

  #fill(timeMs: number, value: number): void {
    const idx = Math.round((timeMs - this.#startMs) / this.stepMs);
    if (idx < 0 && -idx <= this.capacity) {
      this.#values.unshift(...new Array<Sample>(-idx).fill(null));
      this.#startMs += idx * this.stepMs;
      this.#values[0] = value;
    } else if (idx >= this.#values.length || (idx >= 0 && this.#values[idx] === null)) {
      this.put(timeMs, value);
    }
  }

  #trim(): void {
    // Only now and then, so that a tick does not move the whole array.
    const excess = this.#values.length - this.capacity;
    if (excess <= this.capacity / 8) return;
    this.#values = this.#values.slice(excess);
    this.#startMs += excess * this.stepMs;
  }
}
