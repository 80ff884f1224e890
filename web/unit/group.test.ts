import { expect, test } from "vitest";

import { groupsOf, isMatch, nameInGroup } from "../src/group.ts";
import type { SeriesInfo } from "../src/wire.ts";

function signal(id: string, more: Partial<SeriesInfo> = {}): { info: SeriesInfo } {
  return { info: { id, aliases: [], sentence: "", labels: {}, source: "sensor", ...more } as SeriesInfo };
}

test("groups are in their order, others after the known ones, pushed signals last", () => {
  const ids = ["net.lo.sent", "gpu.busy", "cpu.busy", "swap.used", "tasks.blocked"];
  const signals = [signal("cpu.mine", { source: "pushed" }), ...ids.map((id) => signal(id))];
  expect(groupsOf(signals).map(({ name }) => name)).toEqual(["load", "cpu", "memory", "net", "gpu", "pushed"]);
});

test("signals of single cores are apart, in the order of the cores", () => {
  const cores = ["10", "2"].map((core) => signal(`cpu.${core}.busy`, { labels: { core } }));
  const [group] = groupsOf([signal("cpu.busy"), ...cores]);
  expect(group?.signals.map(({ info }) => info.id)).toEqual(["cpu.busy"]);
  expect(group?.perCore.map(({ info }) => info.id)).toEqual(["cpu.2.busy", "cpu.10.busy"]);
});

test("a name does not repeat its group", () => {
  expect(nameInGroup(signal("cpu.busy").info)).toBe("busy");
  expect(nameInGroup(signal("swap.used").info)).toBe("swap.used");
  expect(nameInGroup(signal("cpu").info)).toBe("cpu");
});

test("a filter matches where every word does", () => {
  const { info } = signal("net.eth0.sent", { sentence: "Bytes sent per second on an interface." });
  expect(["", "ETH0", "sent net", "interface"].map((filter) => isMatch(info, filter))).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(isMatch(info, "net disk")).toBe(false);
});
