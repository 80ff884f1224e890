// Who is last: the tree with edges as thick as their lower ends were last to arrive, and the heaviest path in the accent. What was slower
// than expected is marked.

import { draw } from "./dom.ts";
import { quantityText } from "./format.ts";
import type { MpiAnalysis, MpiContributor, MpiSlow } from "./wire.ts";

const LEAF_WIDTH = 58;
const ROW_HEIGHT = 84;
const TOP = 34;
const MARGIN = 34;
const THICKEST = 11;
/** Who was last in a smaller share of calls gets no figure. */
const TOLD = 0.05;

interface Place {
  x: number;
  y: number;
}

/** An edge of the tree, from a contributor to its node. */
export interface Edge {
  from: Place;
  to: Place;
  contributor: MpiContributor;
  isHeaviest: boolean;
  /** If the hop was slower than expected. */
  slow: MpiSlow | null;
}

/** Where all is, in pixels. */
export interface Plan {
  width: number;
  height: number;
  nodes: Place[];
  edges: Edge[];
}

/** Roots above, ranks below, each node in the middle of what contributes to it. */
export function planOf({ nodes, last_arrivals, slow }: MpiAnalysis): Plan {
  const places: Place[] = nodes.map(() => ({ x: 0, y: 0 }));
  const edges: Edge[] = [];
  let nLeaves = 0;
  let lowest = TOP;
  const put = (at: number, y: number): Place => {
    lowest = Math.max(lowest, y + ROW_HEIGHT);
    const ends = (nodes[at]?.contributors ?? []).map((contributor, position) => {
      const { node } = contributor;
      const from = node === null ? { x: MARGIN + LEAF_WIDTH * nLeaves, y: y + ROW_HEIGHT } : put(node, y + ROW_HEIGHT);
      if (node === null) nLeaves += 1;
      const isHeaviest = last_arrivals.some((edge) => edge.node === at && edge.contributor === position);
      const own = slow.find((one) => !one.is_wait && one.node === at && one.contributor === position) ?? null;
      return { from, contributor, isHeaviest, slow: own };
    });
    const place = { x: ((ends[0]?.from.x ?? 0) + (ends.at(-1)?.from.x ?? 0)) / 2, y };
    places[at] = place;
    edges.push(...ends.map((end) => ({ ...end, to: place })));
    return place;
  };
  nodes.forEach(({ parent }, at) => {
    if (parent === null) put(at, TOP);
  });
  return { width: 2 * MARGIN + LEAF_WIDTH * Math.max(nLeaves - 1, 0), height: lowest + 30, nodes: places, edges };
}

/** The tree, as wide as its ranks need. */
export function arrivalTree(analysis: MpiAnalysis): SVGSVGElement {
  const { width, height, nodes, edges } = planOf(analysis);
  // The heaviest path lies above the others.
  const ordered = edges.toSorted((a, b) => Number(a.isHeaviest) - Number(b.isHeaviest));
  const lines = ordered.map(({ from, to, contributor, isHeaviest, slow }) => {
    const thickness = (slow === null ? 1 : 3) + THICKEST * contributor.last_ratio;
    const kind = `edge${isHeaviest ? " heaviest" : ""}${slow === null ? "" : " slow"}`;
    const line = draw("line", { class: kind, "stroke-width": String(thickness) });
    for (const [name, value] of Object.entries({ x1: to.x, y1: to.y, x2: from.x, y2: from.y })) {
      line.setAttribute(name, value.toFixed(1));
    }
    return line;
  });
  const shares = edges.flatMap(({ from, to, contributor, isHeaviest }) => {
    if (contributor.last_ratio < TOLD) return [];
    const middle = { x: (from.x * 2 + to.x) / 3, y: (from.y * 2 + to.y) / 3 };
    return [words(`${Math.round(contributor.last_ratio * 100)} %`, middle, isHeaviest ? "share heaviest" : "share")];
  });
  const late = edges.flatMap(({ from, to, slow }) => {
    if (slow === null) return [];
    const middle = { x: (from.x + to.x * 2) / 3, y: (from.y + to.y * 2) / 3 };
    return [words(`${slow.part} ${slowText(slow)}`, middle, "late")];
  });
  const leaves = edges.flatMap(({ from, contributor, isHeaviest }) => {
    if (contributor.node !== null) return [];
    const below = { x: from.x, y: from.y + 20 };
    return [dot(from, isHeaviest), words(contributor.name, below, isHeaviest ? "leaf heaviest" : "leaf")];
  });
  const names = analysis.nodes.flatMap(({ name, host, parent }, at) => {
    const place = nodes[at] ?? { x: 0, y: 0 };
    const above = parent === null ? undefined : nodes[parent];
    const isOn = edges.some((edge) => edge.isHeaviest && edge.to === place);
    const text = name === host ? name : `${name} · ${host}`;
    // On the side that the edge to the parent does not lead to.
    const side = above === undefined ? "node" : above.x > place.x ? "node before" : "node after";
    const away = { node: [0, -12], "node before": [-11, 0], "node after": [11, 0] }[side] ?? [0, 0];
    const slow = analysis.slow.filter((one) => !one.is_wait && one.node === at && one.contributor === null);
    const below = slow.map((one, position) => words(`${one.part} ${slowText(one)}`, { x: place.x, y: place.y + 18 + 13 * position }, "late"));
    const ring = slow.length > 0 ? [draw("circle", { class: "ring", cx: place.x.toFixed(1), cy: place.y.toFixed(1), r: "8" })] : [];
    return [...ring, ...below, dot(place, isOn), words(text, { x: place.x + (away[0] ?? 0), y: place.y + (away[1] ?? 0) }, side)];
  });
  const label = `last arrivals in tree ${analysis.tree}`;
  const size = { width: String(width), height: String(height), viewBox: `0 0 ${width} ${height}` };
  return draw("svg", { class: "arrivals", role: "img", "aria-label": label, ...size }, ...lines, ...leaves, ...names, ...shares, ...late);
}

/** What a slow stage took, and what was expected. */
function slowText({ mean_seconds, expected_seconds }: MpiSlow): string {
  return `${quantityText(mean_seconds, "seconds")}, not ${quantityText(expected_seconds, "seconds")}`;
}

function dot({ x, y }: Place, isHeaviest: boolean): SVGElement {
  const place = { cx: x.toFixed(1), cy: y.toFixed(1), r: "4" };
  return draw("circle", { class: isHeaviest ? "dot heaviest" : "dot", ...place });
}

function words(text: string, { x, y }: Place, kind: string): SVGElement {
  return draw("text", { class: kind, x: x.toFixed(1), y: y.toFixed(1) }, text);
}
