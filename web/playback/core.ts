// The controller of `playback`, compiled to WebAssembly: text and numbers in, text and numbers out. `web/wasm` is the
// other side.

/** What the module exports. */
interface Exports {
  memory: WebAssembly.Memory;
  text(nBytes: number): number;
  answer(): number;
  answer_length(): number;
  numbers(): number;
  laws(): void;
  open(): number;
  arrived(pacer: number, mediaSeconds: number, elapsedSeconds: number): number;
  decide(pacer: number, elapsedSeconds: number): number;
  fall_silent(pacer: number): number;
  close(pacer: number): void;
}

/** What the numbers of an answer are, before those of each reach; `web/wasm/src/pacer.rs` has the table. */
const N_FIXED = 7;
const N_NUMBERS = N_FIXED + 4 * 5;

/** Why the rate is not the requested one, in the order of the module's numbers. */
const CAUSES = [null, "arrival", "overflow", "cpu", "live edge", "slew"] as const;
export type Cause = Exclude<(typeof CAUSES)[number], null>;

/** Who wants what. */
export interface Wish {
  law: string;
  /** The model that forecasts arrival. */
  model: string;
  /** As shares of the requested rate. */
  slowest: number;
  fastest: number;
  requestedRate: number;
}

/** What a law is told; seconds of media unless it says otherwise. */
export interface Situation {
  bufferSeconds: number;
  capacitySeconds: number;
  startSeconds: number;
  /** Infinite for a medium without an end. */
  leftSeconds: number;
  doesSenderWait: boolean;
  live: LiveEdge | null;
  requestedRate: number;
  /** Media seconds of what is fetched in one of what arrival is measured in. */
  scale: number;
}

/** How far play is behind, and how far it should be. */
export interface LiveEdge {
  offsetSeconds: number;
  targetSeconds: number;
}

/** A forecast of the mean rate of arrival over so many seconds. */
export interface Reach {
  seconds: number;
  leastRate: number;
  expectedRate: number;
  greatestRate: number;
}

/** What to do until the next decision. */
export interface Decision {
  rate: number;
  cause: Cause | null;
  untilBreakSeconds: number | null;
  meanRate: number;
  /** Above it the buffer is foreseen to run out. */
  greatestRate: number;
  leastRate: number;
  /** Near to far; none without a forecast. */
  reaches: Reach[];
}

/** The module, loaded once for a page. */
export class Core {
  readonly #exports: Exports;
  readonly laws: readonly string[];

  private constructor(exports: Exports) {
    this.#exports = exports;
    exports.laws();
    this.laws = this.#answer().split(" ");
  }

  /** Of the bytes of `playback.wasm`, or of the answer that brings them. */
  static async load(from: BufferSource | Response | Promise<Response>): Promise<Core> {
    const bytes = "then" in from || from instanceof Response ? await (await from).arrayBuffer() : from;
    const { instance } = await WebAssembly.instantiate(bytes, {});
    return new Core(instance.exports as unknown as Exports);
  }

  /** A controller; throws `RangeError` for a law, a model or limits that cannot be. */
  open({ law, model, slowest, fastest, requestedRate }: Wish): Controller {
    const bytes = new TextEncoder().encode(`${law}\n${model}`);
    const at = this.#exports.text(bytes.length);
    new Uint8Array(this.#exports.memory.buffer, at, bytes.length).set(bytes);
    this.#numbers().set([slowest, fastest, requestedRate]);
    return new Controller(this.#exports, this.#checked(this.#exports.open()));
  }

  #numbers(): Float64Array {
    return numbersOf(this.#exports);
  }

  #checked(answer: number): number {
    return checked(this.#exports, answer);
  }

  #answer(): string {
    return answerOf(this.#exports);
  }
}

/** One player's controller and forecast. */
export class Controller {
  readonly #exports: Exports;
  #pacer: number;

  /** Made by `Core.open`. */
  constructor(exports: Exports, pacer: number) {
    this.#exports = exports;
    this.#pacer = pacer;
  }

  /** Media arrived, in seconds of the rendition that arrival is measured in, over seconds in which something was asked for. */
  arrived(mediaSeconds: number, elapsedSeconds: number): void {
    checked(this.#exports, this.#exports.arrived(this.#pacer, mediaSeconds, elapsedSeconds));
  }

  /** The decision after so many seconds that led to the situation; throws `RangeError` for what cannot be. */
  decide(situation: Situation, elapsedSeconds: number): Decision {
    numbersOf(this.#exports).set([
      situation.bufferSeconds,
      situation.capacitySeconds,
      situation.startSeconds,
      situation.leftSeconds,
      Number(situation.doesSenderWait),
      situation.live?.offsetSeconds ?? NaN,
      situation.live?.targetSeconds ?? 0,
      situation.requestedRate,
      situation.scale,
    ]);
    checked(this.#exports, this.#exports.decide(this.#pacer, elapsedSeconds));
    return decisionOf(numbersOf(this.#exports));
  }

  /** No sound just now: the next change of the rate may be a jump. */
  fallSilent(): void {
    checked(this.#exports, this.#exports.fall_silent(this.#pacer));
  }

  /** Ends it, once and for all: another may have its number then. */
  close(): void {
    this.#exports.close(this.#pacer);
    this.#pacer = -1;
  }
}

function decisionOf(numbers: Float64Array): Decision {
  const [rate = NaN, cause = 0, untilBreak = Infinity, meanRate = NaN, greatestRate = Infinity, leastRate = 0, nReaches = 0] =
    numbers;
  const reaches = Array.from({ length: nReaches }, (_, idx) => {
    const [seconds = NaN, least = NaN, expected = NaN, greatest = NaN] = numbers.subarray(N_FIXED + 4 * idx);
    return { seconds, leastRate: least, expectedRate: expected, greatestRate: greatest };
  });
  const untilBreakSeconds = untilBreak === Infinity ? null : untilBreak;
  return { rate, cause: CAUSES[cause] ?? null, untilBreakSeconds, meanRate, greatestRate, leastRate, reaches };
}

/** Made anew for each use: memory that has grown is another buffer. */
function numbersOf(exports: Exports): Float64Array {
  return new Float64Array(exports.memory.buffer, exports.numbers(), N_NUMBERS);
}

function answerOf(exports: Exports): string {
  const bytes = new Uint8Array(exports.memory.buffer, exports.answer(), exports.answer_length());
  return new TextDecoder().decode(bytes);
}

function checked(exports: Exports, answer: number): number {
  if (answer < 0) throw new RangeError(answerOf(exports));
  return answer;
}
