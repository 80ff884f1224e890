// What arrives: bytes of the loads under way, over the time in which there were any.

/** What was loaded, once it is complete. */
export interface Fragment {
  /** `audio` or `video`: what is fetched side by side. */
  kind: string;
  /** Which of the renditions, by any name. */
  rendition: string;
  mediaSeconds: number;
  bytes: number;
}

/** What came since the last look. */
export interface Taken {
  bytes: number;
  /** Time in which something was asked for: a player with a full buffer asks for nothing, and that says nothing of the sender. */
  busySeconds: number;
}

/** How much a fragment counts against those before it. */
const WEIGHT = 0.3;

/** Counts the bytes of a player's loads as they come. */
export class Meter {
  readonly #loads = new Map<unknown, { loaded: () => number; counted: number }>();
  readonly #sizes = new Map<string, { rendition: string; bytesPerSecond: number }>();
  #bytes = 0;
  #busySeconds = 0;
  #seenSeconds = 0;

  /** A load begins; `loaded` says how many bytes there are of it, whenever it is asked. */
  begin(load: unknown, nowSeconds: number, loaded: () => number): void {
    this.#look(nowSeconds);
    this.#loads.set(load, { loaded, counted: 0 });
  }

  /** A load is complete, or was given up: then there is no fragment. */
  end(load: unknown, nowSeconds: number, fragment: Fragment | null): void {
    this.#look(nowSeconds);
    const known = this.#loads.get(load);
    this.#loads.delete(load);
    if (fragment === null || !(fragment.mediaSeconds > 0) || !(fragment.bytes > 0)) return;
    if (known !== undefined) this.#bytes += Math.max(fragment.bytes - known.counted, 0);
    const bytesPerSecond = fragment.bytes / fragment.mediaSeconds;
    const before = this.#sizes.get(fragment.kind);
    const isSame = before !== undefined && before.rendition === fragment.rendition;
    this.#sizes.set(fragment.kind, {
      rendition: fragment.rendition,
      bytesPerSecond: isSame ? before.bytesPerSecond + WEIGHT * (bytesPerSecond - before.bytesPerSecond) : bytesPerSecond,
    });
  }

  /** What came since the last call. */
  take(nowSeconds: number): Taken {
    this.#look(nowSeconds);
    const taken = { bytes: this.#bytes, busySeconds: this.#busySeconds };
    this.#bytes = 0;
    this.#busySeconds = 0;
    return taken;
  }

  /** Bytes in a second of the media that are fetched, all kinds together; 0 before the first fragment. */
  get bytesPerSecond(): number {
    return [...this.#sizes.values()].reduce((sum, { bytesPerSecond }) => sum + bytesPerSecond, 0);
  }

  #look(nowSeconds: number): void {
    if (this.#loads.size > 0) this.#busySeconds += Math.max(nowSeconds - this.#seenSeconds, 0);
    this.#seenSeconds = Math.max(nowSeconds, this.#seenSeconds);
    for (const load of this.#loads.values()) {
      const loaded = load.loaded();
      // A try anew begins at 0, and what it brings again counts again: it was sent again.
      if (loaded < load.counted) load.counted = 0;
      if (loaded > load.counted) {
        this.#bytes += loaded - load.counted;
        load.counted = loaded;
      }
    }
  }
}
