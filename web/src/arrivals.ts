// Who is last: the tree with edges as thick as their lower ends were last to arrive, and the heaviest path in the accent.

import { draw } from "./dom.ts";
import type { MpiAnalysis, MpiContributor } from "./wire.ts";

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
}

/** Where all is, in pixels. */
export interface Plan {
  width: number;
  height: number;
  nodes: Place[];
  edges: Edge[];
}

/** Roots above, ranks below, each node in the middle of what contributes to it. */
export function planOf({ nodes, last_arrivals }: MpiAnalysis): Plan {
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
      return { from, contributor, isHeaviest };
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
  const lines = ordered.map(({ from, to, contributor, isHeaviest }) => {
    const thickness = 1 + THICKEST * contributor.last_ratio;
    const line = draw("line", { class: isHeaviest ? "edge heaviest" : "edge", "stroke-width": String(thickness) });
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
    return [dot(place, isOn), words(text, { x: place.x + (away[0] ?? 0), y: place.y + (away[1] ?? 0) }, side)];
  });
  const label = `last arrivals in tree ${analysis.tree}`;
  const size = { width: String(width), height: String(height), viewBox: `0 0 ${width} ${height}` };
  return draw("svg", { class: "arrivals", role: "img", "aria-label": label, ...size }, ...lines, ...leaves, ...names, ...shares);
}

function dot({ x, y }: Place, isHeaviest: boolean): SVGElement {
  const place = { cx: x.toFixed(1), cy: y.toFixed(1), r: "4" };
  return draw("circle", { class: isHeaviest ? "dot heaviest" : "dot", ...place });
}

function words(text: string, { x, y }: Place, kind: string): SVGElement {
  return draw("text", { class: kind, x: x.toFixed(1), y: y.toFixed(1) }, text);
}
