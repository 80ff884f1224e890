// Which tile an arrow key leads to, from where the tiles are. Pure.

export interface Place {
  left: number;
  top: number;
}

export type Direction = "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown" | "Home" | "End";

/** Whether `key` moves between tiles. */
export function isDirection(key: string): key is Direction {
  return ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(key);
}

/** The index of the place that `direction` leads to from `idx`; places are in reading order. */
export function neighbour(places: readonly Place[], idx: number, direction: Direction): number {
  const last = places.length - 1;
  switch (direction) {
    case "ArrowLeft":
      return Math.max(idx - 1, 0);
    case "ArrowRight":
      return Math.min(idx + 1, last);
    case "Home":
      return 0;
    case "End":
      return last;
    case "ArrowUp":
      return inNextRow(places, idx, -1);
    case "ArrowDown":
      return inNextRow(places, idx, 1);
  }
}

function inNextRow(places: readonly Place[], idx: number, direction: 1 | -1): number {
  const here = places[idx];
  if (here === undefined) return idx;
  let best = idx;
  let bestDistance = Infinity;
  let rowTop: number | null = null;
  for (let other = idx + direction; other >= 0 && other < places.length; other += direction) {
    const place = places[other];
    if (place === undefined || place.top === here.top) continue;
    rowTop ??= place.top;
    if (place.top !== rowTop) break;
    const distance = Math.abs(place.left - here.left);
    if (distance < bestDistance) [best, bestDistance] = [other, distance];
  }
  return best;
}
