import { expect, test } from "vitest";

import { EventParser } from "../src/sse.ts";

const STREAM = ': keep\n\nevent: hello\ndata: {"a":1}\n\nevent: tick\r\ndata: one\r\ndata: two\r\n\r\ndata:bare\n\n';
const EVENTS = [
  { event: "hello", data: '{"a":1}' },
  { event: "tick", data: "one\ntwo" },
  { event: "message", data: "bare" },
];

test("events are read whole", () => {
  expect(new EventParser().push(STREAM)).toEqual(EVENTS);
});

test("events are the same wherever the stream is cut", () => {
  for (let size = 1; size < STREAM.length; size += 1) {
    const parser = new EventParser();
    const pieces = STREAM.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
    expect(pieces.flatMap((piece) => parser.push(piece))).toEqual(EVENTS);
  }
});

test("an event that is not complete is kept back", () => {
  const parser = new EventParser();
  expect(parser.push("event: tick\ndata: 1\n")).toEqual([]);
  expect(parser.push("\n")).toEqual([{ event: "tick", data: "1" }]);
});

test("an event without data is none, and its name does not stick to the next", () => {
  expect(new EventParser().push("event: tick\n\ndata: 1\n\n")).toEqual([{ event: "message", data: "1" }]);
});
