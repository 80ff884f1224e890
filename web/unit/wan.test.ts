import { expect, test } from "vitest";

import { groupsOf } from "../src/group.ts";
import { waysOf } from "../src/wan.ts";
import type { SeriesInfo } from "../src/wire.ts";

function signal(id: string, host?: string, hasMoved = true) {
  const labels = host === undefined ? {} : { host };
  return { hasMoved, hasSample: true, info: { id, aliases: [], sentence: "", labels, source: "sensor" } as unknown as SeriesInfo };
}

test("each direction has its signals, also those that were zero all along, and those of other hosts", () => {
  const own = [signal("wan.a.b.rate"), signal("wan.a.b.dropped", undefined, false), signal("wan.there.queue")];
  const theirs = [signal("h/wan.b.a.late_95", "h"), signal("h/wan.b.a.latency", "h"), signal("load.1m")];
  const ways = groupsOf([...own, ...theirs]).map((group) => waysOf(group).map(({ name, signals }) => [name, [...signals.keys()]]));
  expect(ways).toEqual([[], [["a → b", ["rate", "dropped"]], ["there", ["queue"]]], [["b → a", ["late_95"]]]]);
});
