// The pathmap: each rank's way down to the root and up again, as far to the side as it takes long. The stage to look at first is marked, and
// those that are slower than expected.

import { draw } from "./dom.ts";
import { tickText } from "./format.ts";
import { minMax } from "./scale.ts";
import type { MpiAnalysis, MpiHint, MpiPath, MpiStage } from "./wire.ts";

const HEIGHT = 300;
const LEFT = 8;
const RIGHT = 14;
const TOP = 12;
const BOTTOM = 38;
/** So near to the side, a label in the middle of its tick would not fit. */
const EDGE = 24;
/** What those are slowed by who are waited for. */
const ARRIVAL_WAIT = "arrival wait";
/** As close as labels of ticks may come. */
const TICK_WIDTH = 90;

/** The class of a group's lines: the slowest one stands out. */
export function groupClass(position: number): string {
  return ["slowest", "next"][position] ?? "rest";
}

/** Round numbers of seconds from `low` to `high`, at most `n` of them; zero is always one of them. */
export function ticksOf(low: number, high: number, n: number): number[] {
  const least = (high - low) / Math.max(n, 1);
  const unit = 10 ** Math.floor(Math.log10(least));
  const distance = [1, 2, 5, 10].map((times) => times * unit).find((size) => size >= least) ?? unit;
  if (!Number.isFinite(distance) || distance <= 0) return [0];
  const [first, last] = [Math.ceil(low / distance - 1e-9), Math.floor(high / distance + 1e-9)];
  return Array.from({ length: last - first + 1 }, (_, idx) => (first + idx) * distance);
}

/** What to look at first; a wait that is left out has no length to mark. */
export function hotspotOf({ hints }: MpiAnalysis, withWaits: boolean): MpiHint | null {
  return hints.find(({ part }) => withWaits || part !== ARRIVAL_WAIT) ?? null;
}

/** The drawing, `width` pixels wide. */
export function pathmap(analysis: MpiAnalysis, width: number, withWaits: boolean): SVGSVGElement {
  const trackOf = (path: MpiPath) => (withWaits ? path.track_with_waits : path.track);
  const points = analysis.paths.flatMap(trackOf);
  const times = minMax([...points.map(([time]) => time), 0]) ?? { low: 0, high: 0 };
  const highest = Math.max(1, ...points.map(([, height]) => height));
  const span = times.high - times.low || 1e-9;
  const x = (time: number) => LEFT + ((time - times.low) / span) * (width - LEFT - RIGHT);
  const y = (height: number) => HEIGHT - BOTTOM - (height / highest) * (HEIGHT - TOP - BOTTOM);

  const ticks = ticksOf(times.low, times.high, Math.floor(width / TICK_WIDTH)).flatMap((time) => {
    const at = x(time).toFixed(1);
    const rule = draw("line", { class: time === 0 ? "root" : "rule", x1: at, x2: at, y1: String(TOP), y2: String(HEIGHT - BOTTOM) });
    const text = time === 0 ? "root" : tickText(time, "seconds");
    // Words at the edge stay inside.
    const place = x(time) < EDGE ? "tick first" : x(time) > width - EDGE ? "tick last" : "tick";
    return [rule, draw("text", { class: place, x: at, y: String(HEIGHT - BOTTOM + 16) }, text)];
  });
  const hint = hotspotOf(analysis, withWaits);
  const marks = analysis.paths.flatMap((path) => {
    const places = trackOf(path).map(([time, height]) => [x(time).toFixed(1), y(height).toFixed(1)] as const);
    return path.track_stages.flatMap((at, position) => {
      const [stage, from, to] = [path.stages[at], places[position], places[position + 1]];
      if (stage === undefined || from === undefined || to === undefined) return [];
      const isHotspot = hint !== null && hint.rank === path.rank && hint.part === stage.part && hint.node === analysis.nodes[stage.node]?.name;
      const kinds = [...(isHotspot ? ["hotspot"] : []), ...(isSlow(analysis, stage) ? ["slow"] : [])];
      return kinds.map((kind) => draw("line", { class: kind, x1: from[0], y1: from[1], x2: to[0], y2: to[1] }));
    });
  });
  // The slowest group lies on top.
  const tracks = analysis.groups.flatMap((group, position) => {
    const paths = analysis.paths.filter(({ rank }) => group.ranks.includes(rank));
    return paths.map((path) => {
      const points = trackOf(path).map(([time, height]) => `${x(time).toFixed(1)},${y(height).toFixed(1)}`);
      const line = draw("polyline", { class: `track ${groupClass(position)}`, points: points.join(" ") });
      line.append(draw("title", {}, `rank ${path.rank} on ${path.host}`));
      return line;
    });
  });
  const ways = { all: "← down to the root, up again →", to_root: "← down to the root", from_root: "up from the root →" };
  const caption = draw("text", { class: "tick caption", x: String(LEFT), y: String(HEIGHT - 6) }, ways[analysis.flow]);
  const label = `pathmap of tree ${analysis.tree}`;
  const size = { width: String(width), height: String(HEIGHT), viewBox: `0 0 ${width} ${HEIGHT}` };
  return draw("svg", { class: "pathmap", role: "img", "aria-label": label, ...size }, ...ticks, ...marks, ...tracks.reverse(), caption);
}

/** Whether it took longer than its forecast allowed; waits are what somebody else's slowness leads to. */
function isSlow({ slow }: MpiAnalysis, { part, node, contributor }: MpiStage): boolean {
  return slow.some((one) => !one.is_wait && one.part === part && one.node === node && (one.contributor ?? contributor) === contributor);
}
