// How far the last samples lay from what had been forecast for them. Pure.

import type { TileForecast } from "./board.ts";

/** The lead, in steps, whose forecasts samples are held against. */
const LEAD = 10;
/** How many samples are looked back at. */
const N_KEPT = 60;
/** What is left of a surprise after a step: half of it after 35. */
const FADING = 0.98;

interface Said {
  timeMs: number;
  mean: number;
  lower: number;
  upper: number;
}

/** The misses of one signal. */
export class Surprise {
  #due: Said[] = [];
  /** The last samples' distances from the mean, and the band's end from it on that side; the oldest first. */
  #misses: { size: number; half: number }[] = [];

  /** Takes a sample, and the forecast that was made from it. */
  take(timeMs: number, value: number | null, stepMs: number, forecast: TileForecast | null): void {
    const said = this.#due.find((one) => one.timeMs === timeMs);
    this.#due = this.#due.filter((one) => one.timeMs > timeMs);
    if (said !== undefined && value !== null) {
      const { mean, lower, upper } = said;
      const miss = { size: Math.abs(value - mean), half: value > mean ? upper - mean : mean - lower };
      this.#misses = [...this.#misses.slice(1 - N_KEPT), miss];
    }
    const idx = forecast?.leads.indexOf(LEAD) ?? -1;
    const [mean, lower, upper] = [forecast?.mean[idx], forecast?.lower[idx], forecast?.upper[idx]];
    if (mean === undefined || lower === undefined || upper === undefined) return;
    this.#due.push({ timeMs: timeMs + LEAD * stepMs, mean, lower, upper });
  }

  /** The greatest miss in half-widths of its band, each at least `leastHalf`, faded by its age. */
  points(leastHalf: number): number {
    const faded = this.#misses.map(({ size, half }, idx) => {
      const age = this.#misses.length - 1 - idx;
      return (size / Math.max(half, leastHalf)) * FADING ** age;
    });
    return Math.max(0, ...faded);
  }
}
