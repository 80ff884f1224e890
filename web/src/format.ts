// Text for quantities, lengths of time and moments. Pure: no DOM, no clock.

/** A figure and its unit, apart, so that the unit can be set more quietly. */
export interface Quantity {
  figure: string;
  unit: string;
}

/** Stands for a value that is not there. */
export const NOTHING = "–";

const BINARY_PREFIXES = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const NARROW_SPACE = "\u202f";

/** A value of the HTTP interface's `unit` for people, with `more` digits than usual; `null` gives a dash without a unit. */
export function quantity(value: number | null | undefined, unit: string, more = 0): Quantity {
  if (value === null || value === undefined || !Number.isFinite(value)) return { figure: NOTHING, unit: "" };
  switch (unit) {
    case "ratio":
      return { figure: decimals(value * 100, (Math.abs(value * 100) < 9.995 ? 2 : 1) + more), unit: "%" };
    case "tasks":
    case "cores":
      return { figure: decimals(value, 2 + more), unit };
    case "bytes":
    case "bytes/s":
      return bytes(value, unit, more);
    case "seconds":
    case "s":
      return seconds(value, more);
    case "packets/s":
    case "operations/s":
      return { figure: Math.abs(value) < 10 ? decimals(value, 2 + more) : plain(value, more), unit };
    case "celsius":
      return { figure: decimals(value, 1 + more), unit: "°C" };
    case "watts":
      return { figure: decimals(value, 2 + more), unit: "W" };
    default:
      return { figure: plain(value, more), unit };
  }
}

/** A length of time in the unit that leaves something in front of the point. */
function seconds(value: number, more: number): Quantity {
  const magnitude = Math.abs(value);
  if (magnitude > 0 && magnitude < 1e-3) return { figure: decimals(value * 1e6, 1 + more), unit: "µs" };
  if (magnitude > 0 && magnitude < 1) return { figure: decimals(value * 1e3, 2 + more), unit: "ms" };
  return { figure: decimals(value, 2 + more), unit: "s" };
}

/** `quantity` as one text: `97.2 %`. */
export function quantityText(value: number | null | undefined, unit: string): string {
  const { figure, unit: shown } = quantity(value, unit);
  return shown === "" ? figure : `${figure} ${shown}`;
}

/** Two ends of a range, a common unit said once: `0.28 – 0.36 tasks`. Equal ends are one value. */
export function rangeText(low: number, high: number, unit: string): string {
  const [from, to] = [quantity(low, unit), quantity(high, unit)];
  if (from.figure === to.figure && from.unit === to.unit) return quantityText(high, unit);
  // Nothing is nothing in every unit.
  const first = from.unit === to.unit ? from.figure : low === 0 ? "0" : `${from.figure} ${from.unit}`;
  return `${whole(first)} – ${whole(to.figure)} ${to.unit}`.trimEnd();
}

/** A text without the unit at its end where that is `unit`, said nearby already. */
export function withoutUnit(text: string, unit: string): string {
  return unit !== "" && text.endsWith(` ${unit}`) ? text.slice(0, -unit.length - 1) : text;
}

/** `rangeText` without the zeros that an axis does not need: `0 – 100 %`. */
export function axisRangeText(low: number, high: number, unit: string): string {
  return rangeText(low, high, unit).replace(/\d[\d.]*/g, withoutZeros);
}

/** The label of a tick: a quantity without the zeros that an axis does not need. */
export function tickText(value: number, unit: string, more = 0): string {
  const { figure, unit: shown } = quantity(value, unit, more);
  return `${withoutZeros(figure)} ${shown}`.trimEnd();
}

/** The labels of an axis, with as many digits as tell them apart: ticks may be close together far from zero. */
export function tickTexts(values: number[], unit: string): string[] {
  const withMore = (more: number) => values.map((value) => tickText(value, unit, more));
  const isTelling = (texts: string[]) => new Set(texts).size === texts.length;
  return [0, 1, 2, 3].map(withMore).find(isTelling) ?? withMore(4);
}

/** A number of things: `1 200`. */
export function countText(value: number): string {
  return grouped(Math.round(value));
}

/** A length of time in the largest unit that divides it: `10 s`, `5 min`, `1 h`, `250 ms`. */
export function lengthText(ms: number): string {
  const units: [number, string][] = [
    [86_400_000, "d"],
    [3_600_000, "h"],
    [60_000, "min"],
    [1_000, "s"],
  ];
  for (const [size, name] of units) {
    if (ms >= size && ms % size === 0) return `${ms / size} ${name}`;
  }
  return ms >= 1_000 ? `${withoutZeros(plain(ms / 1_000))} s` : `${withoutZeros(plain(ms))} ms`;
}

/** A length of time as a query of the HTTP interface takes it: `30s`, `250ms`. */
export function lengthParameter(ms: number): string {
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
}

/** The local time of day with seconds, and with the date where the day is not that of `reference`. */
export function momentText(ms: number, reference = ms): string {
  const day = dateText(ms);
  return day === dateText(reference) ? clockText(ms) : `${day} ${clockText(ms)}`;
}

/** The local time of day: `09:10:00`. */
export function clockText(ms: number): string {
  const date = new Date(ms);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(":");
}

/** The label of a moment on an axis whose ticks are `distanceMs` apart. */
export function momentTickText(ms: number, distanceMs: number): string {
  if (distanceMs >= 86_400_000) return dateText(ms).slice(5);
  if (distanceMs >= 60_000) return clockText(ms).slice(0, 5);
  return distanceMs >= 1_000 ? clockText(ms) : `${clockText(ms)}.${String(ms % 1_000).padStart(3, "0")}`;
}

/** The local date: `2026-11-21`. */
export function dateText(ms: number): string {
  const date = new Date(ms);
  return `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}`;
}

/** The time zone of all moments here: `UTC`, `UTC+5:30`. */
export function zoneText(ms: number): string {
  const minutes = -new Date(ms).getTimezoneOffset();
  if (minutes === 0) return "UTC";
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? "\u2212" : "+"}${hours}${rest === 0 ? "" : `:${twoDigits(rest)}`}`;
}

/** A number without a unit to about four significant digits, thousands set apart. */
export function plain(value: number, more = 0): string {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e9 || size < 1e-3)) return minus(value.toExponential(2 + more));
  if (size >= 1000) return more === 0 ? minus(grouped(Math.round(value))) : decimals(value, more);
  return decimals(value, (size >= 100 ? 1 : size >= 1 || size === 0 ? 2 : 4) + more);
}

function bytes(value: number, unit: string, more: number): Quantity {
  let scaled = value;
  let prefix = 0;
  // 1023.5 would be written as 1024, which belongs to the next prefix.
  while (Math.abs(scaled) >= 1023.5 && prefix < BINARY_PREFIXES.length - 1) {
    scaled /= 1024;
    prefix += 1;
  }
  const size = Math.abs(scaled);
  const digits = prefix === 0 ? 0 : size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  const rest = unit.slice("bytes".length);
  return { figure: decimals(scaled, digits + (prefix === 0 ? 0 : more)), unit: `${BINARY_PREFIXES[prefix] ?? ""}B${rest}` };
}

function decimals(value: number, digits: number): string {
  const text = value.toFixed(digits);
  // A value that rounds to nothing has no sign.
  return Number(text) === 0 ? text.replace("-", "") : minus(text);
}

function withoutZeros(figure: string): string {
  return figure.includes(".") ? figure.replace(/\.?0+$/, "") : figure;
}

/** The ends of most ranges without decimals; others keep them, so that a text that changes keeps its width. */
function whole(figure: string): string {
  return figure.replace(/^(0|100)\.0+(?!\d)/, "$1");
}

function minus(text: string): string {
  return text.replaceAll("-", "\u2212");
}

function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, NARROW_SPACE);
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

/** A share in percent, with so many digits behind the point if they are not 0. */
export function percentText(share: number, nDigits = 0): string {
  return `${Number((100 * share).toFixed(nDigits))} %`;
}
