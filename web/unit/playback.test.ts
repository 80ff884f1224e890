// The controller as WebAssembly, and what is measured and decided around it.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

import { Core, type Situation } from "../playback/core.ts";
import { Meter } from "../playback/meter.ts";
import { carriedBitrate } from "../playback/pace.ts";

const core = await Core.load(await readFile(join(import.meta.dirname, "../playback/playback.wasm")));
const WISH = { law: "restricted", model: "AUTO", slowest: 0.8, fastest: 1.1, requestedRate: 1 };

function situation(changes: Partial<Situation> = {}): Situation {
  return {
    bufferSeconds: 4,
    capacitySeconds: 30,
    startSeconds: 4,
    leftSeconds: Infinity,
    doesSenderWait: true,
    live: null,
    requestedRate: 1,
    scale: 1,
    ...changes,
  };
}

describe("the controller", () => {
  it("decides as it does outside a browser", async () => {
    const text = await readFile(join(import.meta.dirname, "decisions.csv"), "utf8");
    const [, ...lines] = text.trim().split("\n");
    const controller = core.open(WISH);
    for (const [idx, line] of lines.entries()) {
      const [arrived = NaN, bufferSeconds = NaN, scale = NaN, ...expected] = line.split(",").map((field) =>
        field === "inf" ? Infinity : Number(field),
      );
      controller.arrived(arrived, 0.5);
      const { rate, untilBreakSeconds, meanRate, greatestRate, reaches } = controller.decide(
        situation({ bufferSeconds, scale }),
        0.5,
      );
      const far = reaches.at(-1);
      const [wasRate, , ...was] = expected;
      const found = [untilBreakSeconds ?? Infinity, meanRate, greatestRate, far?.leastRate ?? NaN, far?.expectedRate ?? NaN];
      expect(rate, `line ${idx + 2}`).toBe(wasRate);
      // Exponentials differ in their last digits from one library to another.
      for (const [at, value] of found.entries()) {
        if (Number.isFinite(value)) expect(value, `line ${idx + 2}`).toBeCloseTo(was[at] ?? NaN, 6);
        else expect(value, `line ${idx + 2}`).toBe(was[at]);
      }
    }
    expect(lines.length).toBe(480);
    controller.close();
  });

  it("knows all laws, and says which there are", () => {
    expect(core.laws).toContain("hls.js");
    expect(() => core.open({ ...WISH, law: "fast" })).toThrow(/`fast` is no law: restricted, arrival/);
  });

  it("refuses what cannot be, and goes on", () => {
    expect(() => core.open({ ...WISH, requestedRate: NaN })).toThrow(/requested rate of NaN/);
    expect(() => core.open({ ...WISH, slowest: 1.5 })).toThrow(/limits of 1.5 to 1.1/);
    const controller = core.open(WISH);
    expect(() => controller.arrived(-1, 1)).toThrow(RangeError);
    expect(() => controller.decide(situation({ bufferSeconds: NaN }), 1)).toThrow(/buffer of NaN/);
    expect(controller.decide(situation(), 1).rate).toBe(1);
    controller.close();
    expect(() => controller.decide(situation(), 1)).toThrow(/no open player/);
  });

  it("has a limit on players, and forgets closed ones", () => {
    const open = Array.from({ length: 64 }, () => core.open(WISH));
    expect(() => core.open(WISH)).toThrow(/64 players are open/);
    open.forEach((controller) => controller.close());
    const next = core.open(WISH);
    open.forEach((controller) => controller.close());
    expect(next.decide(situation(), 1).rate, "closed twice is closed once").toBe(1);
    next.close();
  });
});

describe("the meter", () => {
  const fragment = { kind: "audio", rendition: "low", mediaSeconds: 2, bytes: 1_000 };

  it("counts bytes as they come, over the time in which something was asked for", () => {
    const meter = new Meter();
    let loaded = 0;
    meter.begin("a", 10, () => loaded);
    loaded = 400;
    expect(meter.take(11)).toEqual({ bytes: 400, busySeconds: 1 });
    loaded = 900;
    meter.end("a", 12, fragment);
    expect(meter.take(20)).toEqual({ bytes: 600, busySeconds: 1 });
    expect(meter.bytesPerSecond).toBe(500);
  });

  it("does not count time twice for loads side by side, and sums their kinds", () => {
    const meter = new Meter();
    meter.begin("a", 0, () => 1_000);
    meter.begin("v", 0, () => 3_000);
    meter.end("a", 1, fragment);
    meter.end("v", 2, { ...fragment, kind: "video", bytes: 3_000 });
    expect(meter.take(5)).toEqual({ bytes: 4_000, busySeconds: 2 });
    expect(meter.bytesPerSecond).toBe(2_000);
  });

  it("forgets the size of another rendition at once, and counts what was given up as sent", () => {
    const meter = new Meter();
    meter.begin("a", 0, () => 1_000);
    meter.end("a", 1, fragment);
    meter.begin("b", 1, () => 300);
    meter.end("b", 2, null);
    meter.begin("c", 2, () => 4_000);
    meter.end("c", 3, { ...fragment, rendition: "high", bytes: 4_000 });
    expect(meter.take(3)).toEqual({ bytes: 5_300, busySeconds: 3 });
    expect(meter.bytesPerSecond).toBe(2_000);
  });

  it("takes no fragment without a length, and no clock that goes back", () => {
    const meter = new Meter();
    meter.begin("a", 5, () => 10);
    meter.end("a", 4, { ...fragment, mediaSeconds: NaN });
    expect(meter.take(6)).toEqual({ bytes: 10, busySeconds: 0 });
    expect(meter.bytesPerSecond).toBe(0);
  });
});

describe("the bit rate that is carried", () => {
  const bitrates = [64_000, 128_000, 256_000];
  const known = { fetched: 64_000, expected: 150_000, requestedRate: 1, canStay: true };

  it("is the greatest that arrives as fast as it is played", () => {
    expect(carriedBitrate(bitrates, known)).toBe(128_000);
    expect(carriedBitrate(bitrates, { ...known, requestedRate: 1.3 })).toBe(64_000);
    expect(carriedBitrate(bitrates, { ...known, expected: 1_000_000 })).toBe(256_000);
  });

  it("stays while the buffer makes up for what is missing", () => {
    expect(carriedBitrate(bitrates, { ...known, fetched: 256_000 })).toBe(256_000);
    expect(carriedBitrate(bitrates, { ...known, fetched: 256_000, canStay: false })).toBe(128_000);
  });

  it("is never below the least that there is", () => {
    expect(carriedBitrate(bitrates, { ...known, expected: 0, canStay: false })).toBe(64_000);
  });
});
