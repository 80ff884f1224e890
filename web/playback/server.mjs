// A local server of media over links that are as slow as a trace says: for the demo and the tests, on the loopback
// interface only.

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";

import { RENDITIONS, SEGMENT_SECONDS } from "./media.mjs";

const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
  ".m3u8": "application/vnd.apple.mpegurl",
  ".mpd": "application/dash+xml",
  ".mp4": "video/mp4",
  ".m4s": "video/iso.segment",
};

/** Links at the same time; the oldest gives way. */
const N_LINKS_MAX = 64;

/** Pieces of a trace. */
const N_PIECES_MAX = 10_000;

/** Bytes of a request's body. */
const BODY_BYTES_MAX = 1 << 20;

/** How often a link hands out what it could carry meanwhile. */
const TURN_MS = 20;

/** What a live medium had been made of when somebody came: so many segments. */
const N_MADE = 12;

/** Segments that a live list has. */
const N_LISTED = 60;

/** Carries bytes as fast as a trace of `[seconds, bits per second]` says, over and over; responses share it evenly. */
class Link {
  #trace;
  #beganMs = null;
  #lastMs = 0;
  #queue = [];
  #credit = 0;
  #timer = null;

  constructor(trace) {
    this.#trace = trace;
  }

  send(response, bytes) {
    this.#beganMs ??= performance.now();
    if (this.#queue.length === 0) this.#lastMs = performance.now();
    const entry = { response, bytes, at: 0 };
    this.#queue.push(entry);
    response.on("close", () => (this.#queue = this.#queue.filter((other) => other !== entry)));
    this.#timer ??= setInterval(() => this.#turn(), TURN_MS);
  }

  /** From here on it is as another trace says, from that one's beginning. */
  change(trace) {
    this.#trace = trace;
    this.#beganMs = performance.now();
  }

  close() {
    clearInterval(this.#timer);
    this.#queue.forEach(({ response }) => response.destroy());
  }

  #rate(ms) {
    const total = this.#trace.reduce((sum, [seconds]) => sum + seconds, 0);
    let at = ((ms - this.#beganMs) / 1_000) % total;
    for (const [seconds, rate] of this.#trace) {
      if (at < seconds) return rate;
      at -= seconds;
    }
    return this.#trace.at(-1)[1];
  }

  #turn() {
    const now = performance.now();
    this.#credit += (this.#rate(now) / 8_000) * (now - this.#lastMs);
    this.#lastMs = now;
    // What a link could have carried while nobody asked is gone.
    if (this.#queue.length === 0) this.#credit = 0;
    while (this.#credit >= 1 && this.#queue.length > 0) {
      const share = Math.max(1, Math.floor(this.#credit / this.#queue.length));
      for (const entry of [...this.#queue]) {
        const bytes = entry.bytes.subarray(entry.at, entry.at + Math.min(share, Math.floor(this.#credit)));
        entry.at += bytes.length;
        this.#credit -= bytes.length;
        entry.response.write(bytes);
        if (entry.at === entry.bytes.length) {
          this.#queue = this.#queue.filter((other) => other !== entry);
          entry.response.end();
        }
      }
    }
    if (this.#queue.length === 0) {
      clearInterval(this.#timer);
      this.#timer = null;
    }
  }
}

/**
 * Serves `pages` and the media in `media` on a free port of the loopback interface, or on the given one.
 *
 * `POST /links` with `{trace: [[seconds, bitsPerSecond]...], isLive}` makes a link; what is under its path comes over
 * it: `hls.m3u8`, `dash.mpd`, `lecture.mp4`. Lists come at once: the link is for media. `POST` to the path with
 * another trace changes the link.
 */
export async function serve({ pages, media, port = 0 }) {
  const durations = await durationsOf(media);
  const links = new Map();
  let nLinks = 0;

  const server = createServer((request, response) => {
    answer(request, response).catch((error) => {
      // What is left of a body that was too long would be taken for the next request.
      if (!response.headersSent) response.writeHead(error.status ?? 500, { "Content-Type": "text/plain", Connection: "close" });
      response.end(`${error.message}\n`);
    });
  });

  async function answer(request, response) {
    const path = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
    if (request.method === "POST" && path === "/links") return makeLink(request, response);
    const [, id, inside] = /^\/links\/(\d+)\/(.*)$/.exec(path) ?? [];
    const of = links.get(Number(id));
    if (id !== undefined && of === undefined) throw refusal(404, `there is no link ${id}: it was closed`);
    if (request.method === "POST" && inside === "") return changeLink(of.link, request, response);
    if (request.method !== "GET") throw refusal(405, `${request.method} is not understood here`);
    if (of === undefined) return sendFile(response, pages, path === "/" ? "/index.html" : path);
    return answerOver(of, inside, request, response);
  }

  async function makeLink(request, response) {
    const { trace, isLive = false } = await bodyOf(request);
    nLinks += 1;
    links.set(nLinks, { link: new Link(trace), isLive, beganMs: Date.now() });
    const [oldest] = links.keys();
    if (links.size > N_LINKS_MAX) {
      links.get(oldest).link.close();
      links.delete(oldest);
    }
    send(response, ".json", JSON.stringify({ path: `/links/${nLinks}/` }));
  }

  async function changeLink(link, request, response) {
    link.change((await bodyOf(request)).trace);
    send(response, ".json", "{}");
  }

  async function answerOver(of, inside, request, response) {
    if (inside === "hls.m3u8") return send(response, ".m3u8", masterList());
    if (inside === "dash.mpd") return send(response, ".mpd", manifest(of, durations));
    const [, rate] = /^(\d+)\/list\.m3u8$/.exec(inside) ?? [];
    if (rate !== undefined) return send(response, ".m3u8", segmentList(of, durations));
    const [, segment] = /^\d+\/(\d+)\.m4s$/.exec(inside) ?? [];
    if (segment !== undefined && of.isLive && Number(segment) > nMade(of)) throw refusal(404, `${inside} is not made yet`);
    const bytes = await read(media, inside);
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
    const from = Number(first ?? 0);
    const to = Math.min(last ? Number(last) + 1 : bytes.length, bytes.length);
    if (from >= to) throw refusal(416, `${inside} has ${bytes.length} bytes, and none from ${from} to ${to}`);
    response.writeHead(first === undefined ? 200 : 206, {
      "Content-Type": TYPES[extname(inside)] ?? "application/octet-stream",
      "Content-Length": to - from,
      "Accept-Ranges": "bytes",
      "Cache-Control": "no-store",
      ...(first === undefined ? {} : { "Content-Range": `bytes ${from}-${to - 1}/${bytes.length}` }),
    });
    response.flushHeaders();
    of.link.send(response, bytes.subarray(from, to));
  }

  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close: () => {
      links.forEach(({ link }) => link.close());
      server.closeAllConnections();
      server.close();
    },
  };
}

function masterList() {
  const variants = RENDITIONS.map(
    (bits) => `#EXT-X-STREAM-INF:BANDWIDTH=${declared(bits)},CODECS="mp4a.40.2"\n${bits}/list.m3u8\n`,
  );
  return `#EXTM3U\n#EXT-X-VERSION:7\n${variants.join("")}`;
}

/** What a rendition takes with its container: some 8 bytes a frame and 500 a segment. */
function declared(bits) {
  return Math.round(bits * 1.04 + 5_000);
}

function nMade({ beganMs }) {
  return N_MADE + Math.floor((Date.now() - beganMs) / 1_000 / SEGMENT_SECONDS);
}

function segmentList(of, durations) {
  const last = of.isLive ? Math.min(nMade(of), durations.length) : durations.length;
  const first = of.isLive ? Math.max(last - N_LISTED + 1, 1) : 1;
  const segments = durations.slice(first - 1, last).map((seconds, idx) => `#EXTINF:${seconds},\n${first + idx}.m4s\n`);
  return [
    "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:1\n#EXT-X-INDEPENDENT-SEGMENTS\n",
    `#EXT-X-MEDIA-SEQUENCE:${first}\n#EXT-X-MAP:URI="init.mp4"\n`,
    ...segments,
    of.isLive ? "" : "#EXT-X-ENDLIST\n",
  ].join("");
}

function manifest(of, durations) {
  const total = durations.reduce((sum, seconds) => sum + seconds, 0);
  const began = new Date(of.beganMs - N_MADE * SEGMENT_SECONDS * 1_000).toISOString();
  const window = `PT${(N_LISTED * SEGMENT_SECONDS).toFixed(0)}S`;
  const kind = of.isLive
    ? `type="dynamic" availabilityStartTime="${began}" publishTime="${began}" minimumUpdatePeriod="PT60S" timeShiftBufferDepth="${window}"`
    : `type="static" mediaPresentationDuration="PT${total.toFixed(3)}S"`;
  const timing = of.isLive ? `<UTCTiming schemeIdUri="urn:mpeg:dash:utc:direct:2014" value="${new Date().toISOString()}"/>` : "";
  const representations = RENDITIONS.map(
    (bits) =>
      `<Representation id="${bits}" bandwidth="${declared(bits)}" audioSamplingRate="48000"><SegmentTemplate timescale="48000" ` +
      `duration="${Math.round(SEGMENT_SECONDS * 48_000)}" startNumber="1" initialization="${bits}/init.mp4" media="${bits}/$Number$.m4s"/></Representation>`,
  );
  return (
    `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011" minBufferTime="PT1S" ${kind}>` +
    `<Period id="0" start="PT0S"><AdaptationSet mimeType="audio/mp4" codecs="mp4a.40.2" lang="en" segmentAlignment="true" startWithSAP="1">` +
    `${representations.join("")}</AdaptationSet></Period>${timing}</MPD>`
  );
}

async function durationsOf(media) {
  const list = await readFile(join(media, String(RENDITIONS[0]), "list.m3u8"), "utf8");
  return [...list.matchAll(/^#EXTINF:([\d.]+)/gm)].map(([, seconds]) => Number(seconds));
}

/** The JSON of a body, whose trace is one. */
async function bodyOf(request) {
  let text = "";
  for await (const bytes of request) {
    text += bytes;
    if (text.length > BODY_BYTES_MAX) throw refusal(413, `a body has at most ${BODY_BYTES_MAX} bytes`);
  }
  let body;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw refusal(400, `the body is not JSON: ${error.message}`);
  }
  const { trace } = body ?? {};
  const isRight =
    Array.isArray(trace) &&
    trace.length > 0 &&
    trace.length <= N_PIECES_MAX &&
    trace.every((piece) => Array.isArray(piece) && piece[0] > 0 && piece[0] < 1e6 && piece[1] >= 0 && piece[1] < 1e12);
  if (!isRight) throw refusal(400, `a trace is 1 to ${N_PIECES_MAX} pairs of seconds and bits per second`);
  return body;
}

async function sendFile(response, folder, path) {
  send(response, extname(path), await read(folder, path));
}

async function read(folder, path) {
  const inside = normalize(join("/", path));
  return readFile(join(folder, inside)).catch(() => {
    throw refusal(404, `there is no ${inside}`);
  });
}

function send(response, extension, body) {
  const type = TYPES[extension] ?? (extension === ".json" ? "application/json" : "application/octet-stream");
  response.writeHead(200, { "Content-Type": type, "Cache-Control": "no-store" });
  response.end(body);
}

function refusal(status, message) {
  return Object.assign(new Error(message), { status });
}
