// What the large view shows, as CSV. Pure. Only numbers and moments go in, so nothing needs quoting.

import type { Sample } from "./history.ts";
import type { Forecast } from "./wire.ts";

const COLUMNS = "time,measured,forecast,standard_error,lower,upper,confidence";

/** Samples, then the forecast, a row for each moment; a gap is an empty field. */
export function toCsv(startMs: number, stepMs: number, values: readonly Sample[], forecast: Forecast | null): string {
  const rows = values.map((value, idx) => `${moment(startMs + idx * stepMs)},${value ?? ""},,,,,`);
  const ahead = forecast?.mean.map((mean, idx) => {
    const time = Date.parse(forecast.origin) + (idx + 1) * forecast.step_seconds * 1_000;
    const band = [mean, forecast.standard_error[idx], forecast.lower[idx], forecast.upper[idx]];
    return `${moment(time)},,${band.join(",")},${forecast.confidence}`;
  });
  return [COLUMNS, ...rows, ...(ahead ?? [])].join("\n") + "\n";
}

/** A file name of letters that every file system takes. */
export function csvName(host: string, id: string, time: string): string {
  return `${[host, id, time].map((part) => part.replace(/[^A-Za-z0-9._-]+/g, "-")).join("_")}.csv`;
}

function moment(ms: number): string {
  return new Date(Math.round(ms)).toISOString();
}
