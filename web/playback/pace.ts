// Drives the rate of an audio or video element by the controller: what all plug-ins share.

import type { Controller, Core, Decision, LiveEdge } from "./core.ts";
import { Meter } from "./meter.ts";

/** What a plug-in says of its player. */
export interface Player {
  readonly element: HTMLMediaElement;
  /** Media that it keeps ahead of play, in seconds. */
  capacitySeconds(): number;
  /** Of a live medium that is playing. */
  live(): LiveEdge | null;
  /** Bits per second of all renditions that it may pick, in any order; none where it has no choice. */
  bitrates(): number[];
  /** The one that it fetches. */
  bitrate(): number | null;
  /** From here on it picks no rendition of more bits per second. */
  limitBitrate(bitsPerSecond: number): void;
  /** Whether loads are counted in media seconds, for want of their bytes. */
  readonly countsSeconds?: boolean;
  /** Leaves the player alone. */
  detach(): void;
}

/** What a listener wants; what is left out is as in the command line's `foretop play`. */
export interface Options {
  core: Core;
  law?: string;
  model?: string;
  requestedRate?: number;
  /** The slowest and fastest rate, as shares of the requested one. */
  slowest?: number;
  fastest?: number;
  /** Media that play begins with, and goes on with after a break. */
  startSeconds?: number;
  /** Looks on and lets the player's own law set the rate. */
  isWatching?: boolean;
  /** Told of every moment. */
  onMoment?: (moment: Moment) => void;
}

/** What there is to show. */
export interface Moment {
  /** Since the pace began, by the wall's clock. */
  wallSeconds: number;
  /** Where play is. */
  mediaSeconds: number;
  bufferSeconds: number;
  /** 0 while it stands still. */
  rate: number;
  requestedRate: number;
  /** Waits for the start-up buffer. */
  isHolding: boolean;
  nBreaks: number;
  /** Media seconds played since the pace began. */
  playedSeconds: number;
  /** Media that arrived in a second of those in which something was asked for; null while nothing was. */
  arrivalRate: number | null;
  decision: Decision | null;
  bitrate: number | null;
  /** The most that may be picked; infinite for no limit. */
  bitrateLimit: number;
}

const EVERY_MS = 250;

/** After a break, play goes on so long before where it broke off. */
const BACK_SECONDS = 0.5;

/** What a browser says is buffered and does not play: of a file, Chromium guesses it from the bytes. More than this is no such error. */
const UNPLAYABLE_SECONDS_MAX = 3;

/** What rounding may leave between two equal rates. */
const SAME_RATE = 1e-6;

/** The end of what is buffered from here on without a gap. */
export function bufferedEnd(element: HTMLMediaElement): number {
  const { buffered, currentTime } = element;
  for (let idx = 0; idx < buffered.length; idx += 1) {
    // Players leave gaps of a frame between fragments, and step over them.
    if (buffered.start(idx) <= currentTime + 0.1 && currentTime < buffered.end(idx)) return buffered.end(idx);
  }
  return currentTime;
}

/**
 * The greatest of these bit rates that the forecast carries at the requested rate, and at least the smallest.
 *
 * A higher one has to be carried by what arrives alone. The one that is fetched stays while buffer and arrival carry
 * it together.
 */
export function carriedBitrate(
  bitrates: number[],
  { fetched, expected, requestedRate, canStay }: { fetched: number | null; expected: number; requestedRate: number; canStay: boolean },
): number {
  const carried = bitrates.filter(
    (bitrate) => bitrate * requestedRate <= expected || (canStay && fetched !== null && bitrate <= fetched),
  );
  return Math.max(Math.min(...bitrates), ...carried);
}

/** The pace of one player, until it is closed. */
export class Pace {
  readonly meter = new Meter();
  readonly #player: Player;
  readonly #controller: Controller;
  readonly #startSeconds: number;
  readonly #isWatching: boolean;
  readonly #onMoment: (moment: Moment) => void;
  readonly #abort = new AbortController();
  readonly #timer: number;
  readonly #beganSeconds = nowSeconds();
  readonly #defaultRate: number;
  #requestedRate: number;
  #setRate: number | null = null;
  #lastSeconds = nowSeconds();
  #lastMediaSeconds: number;
  #playedSeconds = 0;
  #isHolding = true;
  #hasBroken = false;
  #nBreaks = 0;
  /** Bytes in a second of what arrival is measured in. */
  #reference: number | null = null;
  #bitrateLimit = Infinity;
  /** What was said to be in the buffer when play broke off all the same. */
  #unplayableSeconds = 0;

  constructor(player: Player, options: Options) {
    this.#player = player;
    this.#requestedRate = options.requestedRate ?? 1;
    this.#startSeconds = options.startSeconds ?? 5;
    this.#isWatching = options.isWatching ?? false;
    this.#onMoment = options.onMoment ?? (() => undefined);
    this.#controller = options.core.open({
      law: options.law ?? "restricted",
      model: options.model ?? "AUTO",
      slowest: options.slowest ?? 0.8,
      fastest: options.fastest ?? 1.1,
      requestedRate: this.#requestedRate,
    });
    const { element } = player;
    element.preservesPitch = true;
    this.#defaultRate = element.defaultPlaybackRate;
    // What a load sets the rate to, and a player after a wait of its own.
    element.defaultPlaybackRate = this.#requestedRate;
    if (!this.#isWatching) this.#apply(this.#requestedRate);
    this.#lastMediaSeconds = element.currentTime;
    const { signal } = this.#abort;
    element.addEventListener("ratechange", () => this.#rateChanged(), { signal });
    element.addEventListener("waiting", () => this.#waits(), { signal });
    element.addEventListener("seeking", () => (this.#lastMediaSeconds = element.currentTime), { signal });
    element.addEventListener("emptied", () => this.#begin(), { signal });
    this.#timer = window.setInterval(() => this.#tick(), EVERY_MS);
    this.#tick();
  }

  /** The rate that the listener asks for; it holds at once, as far as the bounds allow. Throws `RangeError` unless it is from 1/16 to 16. */
  set requestedRate(rate: number) {
    // What browsers play at all.
    if (!(rate >= 0.0625 && rate <= 16)) throw new RangeError(`a rate of ${rate}: it has to be from 0.0625 to 16`);
    this.#requestedRate = rate;
    this.#player.element.defaultPlaybackRate = rate;
    this.#controller.fallSilent();
  }

  get requestedRate(): number {
    return this.#requestedRate;
  }

  get nBreaks(): number {
    return this.#nBreaks;
  }

  /** Leaves element and player to themselves. */
  close(): void {
    if (this.#abort.signal.aborted) return;
    clearInterval(this.#timer);
    this.#abort.abort();
    this.#player.detach();
    this.#controller.close();
    this.#player.element.defaultPlaybackRate = this.#defaultRate;
    if (!this.#isWatching) this.#player.element.playbackRate = this.#requestedRate;
  }

  #begin(): void {
    this.#isHolding = true;
    this.#hasBroken = false;
    this.#unplayableSeconds = 0;
    this.#controller.fallSilent();
  }

  /** Somebody set the rate. A player that ends a wait of its own sets the last one again; any other is the listener's wish. */
  #rateChanged(): void {
    const { playbackRate } = this.#player.element;
    const isOwn = [0, this.#setRate, this.#requestedRate].some((rate) => rate !== null && isSame(rate, playbackRate));
    if (!isOwn && !this.#isWatching && playbackRate >= 0.0625) this.requestedRate = playbackRate;
  }

  #waits(): void {
    const { element } = this.#player;
    if (element.seeking || element.ended || element.currentTime === 0 || this.#hasAll() || this.#isHolding) return;
    this.#nBreaks += 1;
    this.#isHolding = true;
    this.#hasBroken = true;
    this.#controller.fallSilent();
    if (this.#isWatching) return;
    const unplayable = Math.min(bufferedEnd(element) - element.currentTime, UNPLAYABLE_SECONDS_MAX);
    this.#unplayableSeconds = Math.max(unplayable, this.#unplayableSeconds);
    this.#apply(0);
  }

  /** Whether nothing is left to wait for. */
  #hasAll(): boolean {
    const { element } = this.#player;
    return Number.isFinite(element.duration) && bufferedEnd(element) >= element.duration - 0.1;
  }

  #tick(): void {
    const { element } = this.#player;
    const now = nowSeconds();
    const elapsed = now - this.#lastSeconds;
    this.#lastSeconds = now;
    const arrivalRate = this.#takeArrival(now);
    if (!element.seeking) this.#playedSeconds += Math.max(element.currentTime - this.#lastMediaSeconds, 0);
    const stood = element.currentTime === this.#lastMediaSeconds;
    this.#lastMediaSeconds = element.currentTime;
    // At the end all of it plays.
    const unplayable = this.#hasAll() ? 0 : this.#unplayableSeconds;
    const bufferSeconds = Math.max(bufferedEnd(element) - element.currentTime - unplayable, 0);
    if (this.#isHolding && this.#mayPlay(bufferSeconds, stood)) this.#release();
    const isSilent = this.#isHolding || element.paused || element.ended || element.seeking;
    if (isSilent) this.#controller.fallSilent();
    const decision = element.readyState === HTMLMediaElement.HAVE_NOTHING ? null : this.#decide(bufferSeconds, elapsed);
    if (!this.#isWatching && decision !== null) {
      this.#limitBitrate(decision);
      // A paused element keeps the rate that it will go on at.
      if (!element.ended && !element.seeking) this.#apply(this.#isHolding ? 0 : decision.rate);
    }
    this.#onMoment({
      wallSeconds: now - this.#beganSeconds,
      mediaSeconds: element.currentTime,
      bufferSeconds,
      rate: isSilent ? 0 : element.playbackRate,
      requestedRate: this.#requestedRate,
      isHolding: this.#isHolding,
      nBreaks: this.#nBreaks,
      playedSeconds: this.#playedSeconds,
      arrivalRate,
      decision,
      bitrate: this.#player.bitrate(),
      bitrateLimit: this.#bitrateLimit,
    });
  }

  #mayPlay(bufferSeconds: number, stood: boolean): boolean {
    // Who looks on only sees that it goes on.
    if (this.#isWatching) return !stood;
    return bufferSeconds >= this.#startSeconds || (bufferSeconds > 0 && this.#hasAll());
  }

  #release(): void {
    const { element } = this.#player;
    this.#isHolding = false;
    if (this.#hasBroken && !this.#isWatching && isBuffered(element, element.currentTime - BACK_SECONDS)) {
      element.currentTime -= BACK_SECONDS;
    }
    this.#hasBroken = false;
  }

  #takeArrival(now: number): number | null {
    const size = this.#player.countsSeconds === true ? 1 : this.meter.bytesPerSecond;
    // Until a fragment is complete, nobody knows how long its bytes play.
    if (size === 0) return null;
    this.#reference ??= this.#player.countsSeconds === true ? 1 : Math.max(size, ...this.#player.bitrates().map((bits) => bits / 8));
    const { bytes, busySeconds } = this.meter.take(now);
    if (busySeconds === 0) return null;
    this.#controller.arrived(bytes / this.#reference, busySeconds);
    return bytes / size / busySeconds;
  }

  #decide(bufferSeconds: number, elapsedSeconds: number): Decision {
    const { element } = this.#player;
    const left = element.duration - element.currentTime;
    return this.#controller.decide(
      {
        bufferSeconds,
        capacitySeconds: this.#player.capacitySeconds(),
        startSeconds: this.#startSeconds,
        leftSeconds: Number.isFinite(left) && this.#player.live() === null ? Math.max(left, bufferSeconds) : Infinity,
        // A server keeps what nobody asked for yet.
        doesSenderWait: true,
        live: this.#player.live(),
        requestedRate: this.#requestedRate,
        scale: this.#scale(),
      },
      elapsedSeconds,
    );
  }

  #scale(): number {
    return this.#reference === null || this.#player.countsSeconds === true ? 1 : this.#reference / this.meter.bytesPerSecond;
  }

  #limitBitrate(decision: Decision): void {
    const bitrates = this.#player.bitrates();
    const far = decision.reaches.at(-1);
    if (bitrates.length < 2 || far === undefined) return;
    const limit = carriedBitrate(bitrates, {
      fetched: this.#player.bitrate(),
      expected: far.expectedRate * this.meter.bytesPerSecond * 8,
      requestedRate: this.#requestedRate,
      canStay: decision.greatestRate >= this.#requestedRate,
    });
    if (limit !== this.#bitrateLimit) this.#player.limitBitrate(limit);
    this.#bitrateLimit = limit;
  }

  #apply(rate: number): void {
    this.#setRate = rate;
    if (!isSame(this.#player.element.playbackRate, rate)) this.#player.element.playbackRate = rate;
  }
}

/** What the page's clock says, which nobody sets. */
export function nowSeconds(): number {
  return performance.now() / 1_000;
}

function isSame(a: number, b: number): boolean {
  return Math.abs(a - b) < SAME_RATE;
}

function isBuffered({ buffered }: HTMLMediaElement, seconds: number): boolean {
  return Array.from({ length: buffered.length }, (_, idx) => idx).some(
    (idx) => buffered.start(idx) <= seconds && seconds < buffered.end(idx),
  );
}
