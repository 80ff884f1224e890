import { expect, test } from "vitest";

import { groupsOf, hostOf, hostsOf, isMatch, nameInGroup } from "../src/group.ts";
import type { SeriesInfo } from "../src/wire.ts";

function signal(id: string, more: Partial<SeriesInfo> = {}, hasMoved = true, hasSample = true) {
  return { hasMoved, hasSample, info: { id, aliases: [], sentence: "", labels: {}, source: "sensor", ...more } as SeriesInfo };
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

test("signals that were zero all along are apart, those of cores with their cores", () => {
  const still = [signal("cpu.guest", {}, false), signal("cpu.0.guest", { labels: { core: "0" } }, false)];
  const [group] = groupsOf([signal("cpu.busy"), ...still]);
  const ids = [group?.signals, group?.atZero, group?.perCore].map((part) => part?.map(({ info }) => info.id));
  expect(ids).toEqual([["cpu.busy"], ["cpu.guest"], ["cpu.0.guest"]]);
});

test("signals without samples are not among those at zero", () => {
  const [group] = groupsOf([signal("disk.sda.busy", {}, false), signal("disk.sdb.busy", {}, false, false)]);
  const ids = [group?.signals, group?.atZero, group?.empty].map((part) => part?.map(({ info }) => info.id));
  expect(ids).toEqual([[], ["disk.sda.busy"], ["disk.sdb.busy"]]);
});

test("a name does not repeat its group", () => {
  expect(nameInGroup(signal("cpu.busy").info)).toBe("busy");
  expect(nameInGroup(signal("swap.used").info)).toBe("swap.used");
  expect(nameInGroup(signal("cpu").info)).toBe("cpu");
  expect(nameInGroup(signal('busy{instance="db1.example"}').info)).toBe('{instance="db1.example"}');
});

test("series that differ in labels alone are one group", () => {
  const signals = ["db1.example", "db2.example"].map((host) => signal(`busy{instance="${host}"}`));
  expect(groupsOf([...signals, signal("busy.share")]).map(({ name, signals }) => [name, signals.length])).toEqual([
    ["busy", 3],
  ]);
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

test("another host's groups come after the node's own, host by host in the same order", () => {
  const of = (host: string, id: string) => signal(`${host}/${id}`, { labels: { host } });
  const signals = [of("b", "cpu.busy"), of("a", "cpu.busy"), of("a", "load.1m"), signal("net.lo.sent")];
  expect(groupsOf(signals).map(({ name }) => name)).toEqual(["net", "a · load", "a · cpu", "b · cpu"]);
  expect(nameInGroup(of("a", "cpu.busy").info)).toBe("busy");
  expect(hostsOf(signals)).toEqual(["a", "b"]);
  expect(isMatch(of("a", "cpu.busy").info, "a cpu")).toBe(true);
});

test("a label of that name does not make an exporter's series another host's", () => {
  expect(hostOf(signal('up{host="a"}', { labels: { host: "a" } }).info)).toBeNull();
});
