// Fetches what a small multiple shows from before the page was opened, a few signals at a time.

import { ApiError, seriesPath, type Api } from "./api.ts";
import { TILE_STEPS_AHEAD, type Signal } from "./board.ts";
import { lengthParameter } from "./format.ts";
import { Queue } from "./queue.ts";
import type { Forecast, Samples } from "./wire.ts";

/** How many histories are fetched at the same time. */
const N_FETCHES = 4;
/** How long after a refusal the samples of a series are asked for again. */
const REFUSED_MS = 5_000;
/** Up to this step the first forecast is worth waiting for. */
const FAST_STEP_MS = 2_000;

/** Fetches each signal's past once. `onCome` runs whenever one is here. */
export class Past {
  readonly #api: Api;
  readonly #onCome: () => void;
  readonly #fetches = new Queue(N_FETCHES);
  readonly #fetching = new Set<Signal>();

  constructor(api: Api, onCome: () => void) {
    this.#api = api;
    this.#onCome = onCome;
  }

  /** Whether the past of `signal` has been asked for and is not here. */
  isFetching(signal: Signal): boolean {
    return this.#fetching.has(signal);
  }

  /** Fetches the past of `signal`, unless it is here or under way. */
  fetch(signal: Signal): void {
    if (signal.isLoaded || this.#fetching.has(signal)) return;
    this.#fetching.add(signal);
    this.#fetches.add(async () => {
      try {
        await this.#ask(signal);
        this.#fetching.delete(signal);
        this.#onCome();
      } catch {
        // The connection says that the node is gone; when it is back everything is fetched again. A node that refuses
        // this series alone is asked again later, not at every redraw.
        setTimeout(() => this.#fetching.delete(signal), REFUSED_MS);
      }
    });
  }

  async #ask(signal: Signal): Promise<void> {
    const { info, stepMs } = signal;
    const query = { from: `-${lengthParameter(signal.history.capacity * stepMs)}`, step: lengthParameter(stepMs) };
    signal.takeSamples(await this.#api.json<Samples>(seriesPath(info.id, "/samples"), query));
    // A tick brings the forecast of most signals sooner than it could be asked for.
    const isFast = info.source === "sensor" && stepMs <= FAST_STEP_MS;
    if (isFast || signal.forecast !== null || info.n_samples === 0) return;
    const horizon = lengthParameter(TILE_STEPS_AHEAD * stepMs);
    const forecast = await this.#api.json<Forecast>(seriesPath(info.id, "/forecast"), { horizon }).catch(noForecastYet);
    if (forecast !== null) signal.takeForecast(forecast);
  }
}

function noForecastYet(error: unknown): null {
  if (error instanceof ApiError && error.code === "not_ready") return null;
  throw error;
}
