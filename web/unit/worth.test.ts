import { expect, test } from "vitest";

import { Signal } from "../src/board.ts";
import type { SeriesInfo } from "../src/wire.ts";
import { worthiest, worthOf } from "../src/worth.ts";

const T0 = Date.parse("2026-11-21T09:00:00Z");
const LEADS = [1, 2, 5, 10, 20, 30];

/** A signal that was 50 for a minute, with a forecast of `mean` and bands of +-10 and +-3 at every step. */
function signal(id: string, mean: number, last = 50, labels: Record<string, string> = {}): Signal {
  const range = { min: 0, max: 100 };
  const about = { id, unit: "tasks", kind: "gauge", source: "sensor", step_seconds: 1, last: null, range, labels };
  const made = new Signal(about as unknown as SeriesInfo);
  for (let second = 0; second <= 60; second += 1) {
    const timeMs = T0 + second * 1_000;
    const at = (value: number) => LEADS.map(() => value);
    const value = second === 60 ? last : 50;
    const said = second === 60 ? mean : 50;
    const inner = { lower: at(said - 3), upper: at(said + 3) };
    const outer = { lower: at(said - 10), upper: at(said + 10) };
    made.take(timeMs, value, { originMs: timeMs, leads: LEADS, mean: at(said), ...outer, inner }, timeMs);
  }
  return made;
}

test("what is likely to change says where to", () => {
  expect(worthOf(signal("a", 65)).why).toBe("likely to rise");
  expect(worthOf(signal("a", 40)).why).toBe("likely to fall");
  expect(worthOf(signal("a", 65)).points).toBeCloseTo(3);
});

test("a sample that lies outside the band of a forecast made before is unexpected", () => {
  const surprised = worthOf(signal("a", 90, 90));
  expect(surprised.why).toBe("unexpected");
  expect(surprised.points).toBeCloseTo(40 / 10 / 1.5);
});

test("only what is worth a look is picked, the most worth first", () => {
  const signals = [signal("calm.a", 52), signal("x.b", 60), signal("y.c", 30), signal("z.d", 95, 95)];
  expect(worthiest(signals, 8).map(({ info }) => info.id)).toEqual(["y.c", "z.d", "x.b"]);
  expect(worthiest(signals, 1)).toHaveLength(1);
});

test("a group gives two signals at most, and a single core none", () => {
  const cpu = ["user", "busy", "idle"].map((name) => signal(`cpu.${name}`, 80));
  const core = signal("cpu.0.busy", 99, 50, { core: "0" });
  expect(worthiest([core, ...cpu], 8).map(({ info }) => info.id)).toEqual(["cpu.user", "cpu.busy"]);
});

test("a mean above a value that is in the narrower band is no change that is likely", () => {
  const peaky = signal("a", 65);
  const { forecast } = peaky;
  if (forecast !== null) forecast.inner = { lower: LEADS.map(() => 50), upper: LEADS.map(() => 60) };
  expect(worthOf(peaky).points).toBe(0);
});

test("a change of a thousandth is none, however sure it is", () => {
  const calm = signal("a", 50);
  const at = (value: number) => LEADS.map(() => value);
  const timeMs = T0 + 61_000;
  const sure = { lower: at(50.05), upper: at(50.05) };
  calm.take(timeMs, 50, { originMs: timeMs, leads: LEADS, mean: at(50.05), ...sure, inner: sure }, timeMs);
  expect(worthOf(calm).points).toBeLessThan(1);
});
