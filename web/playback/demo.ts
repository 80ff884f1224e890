// The demo: a player, a law and a link to choose, and what becomes of them.
//
// `index.html?player=shaka&law=own&link=slow&start=1` begins at once, and without sound, as browsers want it. Tests
// read `window.moments`.

import "./demo.css";
import { Core } from "./core.ts";
import type { Moment, Options, Pace } from "./pace.ts";
import { Plot } from "./plot.ts";
import wasm from "./playback.wasm?url";

declare global {
  interface Window {
    moments: Moment[];
    pace: Pace | null;
    /** Where what is played comes from. */
    link: string;
  }
}

/** Bits per second of the smallest rendition, and of the file with a picture, as the server makes them. */
const BITS = { list: 36_200, file: 272_000 };

/** Links, as `[seconds, times the rate of the smallest rendition]`, over and over. */
const LINKS: Record<string, { title: string; trace: [number, number][] }> = {
  slow: { title: "nine tenths of the rate", trace: [[3_600, 0.9]] },
  steps: { title: "1.3 times, then 0.85", trace: [[25, 1.3], [35, 0.85]] },
  mobile: { title: "mobile", trace: [[8, 1.4], [5, 0.5], [9, 1.1], [3, 0.2], [10, 1.2], [4, 0.7], [6, 0.9]] },
  outage: { title: "an outage every minute", trace: [[50, 1.3], [10, 0]] },
  enough: { title: "2.9 times the rate", trace: [[3_600, 2.9]] },
  plenty: { title: "eight times the rate", trace: [[3_600, 8]] },
};

const PLAYERS = { "hls.js": "hls.js", "dash.js": "dash.js", shaka: "Shaka Player", plain: "no player, one file" };
const LAWS = {
  restricted: "ours: the speed asked for, inside what arrives",
  arrival: "ours: as fast as it arrives",
  own: "the player's own",
};

const CAUSES = {
  arrival: "arrives too slowly",
  overflow: "arrives too fast",
  cpu: "CPU",
  "live edge": "live edge",
  slew: "on its way",
};

/** What the plots show of the past. */
const PAST_SECONDS = 90;

const form = document.querySelector("form")!;
const message = document.querySelector("#message")!;
const indicators = document.querySelector("#indicators")!;
const plots = document.querySelector<HTMLElement>("#plots")!;
let leave = (): void => undefined;
window.moments = [];
window.pace = null;

fill("player", PLAYERS);
fill("law", LAWS);
fill("link", Object.fromEntries(Object.entries(LINKS).map(([name, { title }]) => [name, title])));
const query = new URLSearchParams(location.search);
for (const [name, value] of query) {
  const field = form.elements.namedItem(name);
  if (field instanceof HTMLSelectElement) field.value = value;
  if (field instanceof HTMLInputElement) {
    if (field.type === "checkbox") field.checked = value === "1";
    else field.value = value;
  }
}
const rate = form.elements.namedItem("rate") as HTMLInputElement;
rate.addEventListener("change", () => {
  if (window.pace !== null && rate.valueAsNumber > 0) window.pace.requestedRate = rate.valueAsNumber;
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  start().catch(fail);
});

const ratePlot = new Plot(plots, "rate of play, and the one asked for (dashed)", [{ colour: "--ink" }, { colour: "--quiet", isDashed: true }], {
  top: 1.2,
});
const bufferPlot = new Plot(plots, "seconds in the buffer", [{ colour: "--ink" }], { top: 6 });
const arrivalPlot = new Plot(
  plots,
  "arrival, in media seconds a second; on the right what is expected over the next half minute, and where three courses in five are",
  [{ colour: "--ink" }, { colour: "--accent" }],
  { hasBand: true, top: 1.2 },
);

const core = await Core.load(fetch(wasm));
if (query.get("start") === "1") start().catch(fail);

function fail(error: unknown): void {
  message.textContent = error instanceof Error ? error.message : String(error);
}

async function start(): Promise<void> {
  leave();
  message.textContent = "";
  window.moments = [];
  const chosen = new FormData(form);
  const player = String(chosen.get("player"));
  const law = String(chosen.get("law"));
  const { trace } = LINKS[String(chosen.get("link"))]!;
  const bits = player === "plain" ? BITS.file : BITS.list;
  const path = await makeLink(trace.map(([seconds, times]) => [seconds, times * bits]), chosen.get("live") === "on");
  window.link = path;
  const element = anewElement(player === "plain");
  const options: Options = {
    core,
    isWatching: law === "own",
    law: law === "own" ? "restricted" : law,
    requestedRate: rate.valueAsNumber,
    startSeconds: 3,
    onMoment: show,
  };
  const close = await PLAY[player as keyof typeof PLAY](element, path, options);
  leave = () => {
    window.pace?.close();
    window.pace = null;
    close();
  };
  if (law === "own") element.playbackRate = rate.valueAsNumber;
  await element.play();
}

/** Plays what is under the path, and says how to end that. */
const PLAY = {
  async "hls.js"(element: HTMLMediaElement, path: string, options: Options) {
    const [{ default: Hls }, { paceHls }] = await Promise.all([import("hls.js"), import("./hls.ts")]);
    const hls = new Hls({ maxBufferLength: 20 });
    hls.on(Hls.Events.ERROR, (_, { fatal, details }) => fatal && fail(new Error(`hls.js gave up: ${details}`)));
    hls.attachMedia(element);
    window.pace = paceHls(hls, options);
    hls.loadSource(`${path}hls.m3u8`);
    return () => hls.destroy();
  },
  async "dash.js"(element: HTMLMediaElement, path: string, options: Options) {
    const [{ MediaPlayer }, { paceDash }] = await Promise.all([import("dashjs"), import("./dash.ts")]);
    const player = MediaPlayer().create();
    player.initialize(element, `${path}dash.mpd`, false);
    window.pace = paceDash(player, options);
    return () => player.destroy();
  },
  async shaka(element: HTMLMediaElement, path: string, options: Options) {
    const [{ default: shaka }, { paceShaka }] = await Promise.all([import("shaka-player"), import("./shaka.ts")]);
    const player = new shaka.Player();
    player.addEventListener("error", (event) => fail(new Error(`Shaka gave up: ${JSON.stringify((event as CustomEvent).detail)}`)));
    await player.attach(element);
    player.configure({ streaming: { bufferingGoal: 20, vodDynamicPlaybackRate: options.isWatching === true } });
    window.pace = paceShaka(player, options);
    await player.load(`${path}dash.mpd`);
    return () => void player.destroy();
  },
  async plain(element: HTMLMediaElement, path: string, options: Options) {
    const { pacePlain } = await import("./plain.ts");
    window.pace = pacePlain(element, options);
    element.src = `${path}lecture.mp4`;
    return () => element.removeAttribute("src");
  },
};

async function makeLink(trace: [number, number][], isLive: boolean): Promise<string> {
  const response = await fetch("/links", { method: "POST", body: JSON.stringify({ trace, isLive }) });
  if (!response.ok) throw new Error(await response.text());
  const { path } = (await response.json()) as { path: string };
  return new URL(path, location.href).href;
}

/** A player leaves things behind in its element. */
function anewElement(hasPicture: boolean): HTMLVideoElement {
  const before = document.querySelector("#element")!;
  const element = document.createElement("video");
  element.id = "element";
  element.controls = true;
  element.muted = query.get("start") === "1";
  element.className = hasPicture ? "has-picture" : "";
  before.replaceWith(element);
  return element;
}

function show(moment: Moment): void {
  const { moments } = window;
  moments.push(moment);
  const { decision, wallSeconds: now } = moment;
  const cause = decision?.cause ?? null;
  const until = decision?.untilBreakSeconds ?? null;
  tell({
    "rate now": moment.rate.toFixed(2),
    "asked for": moment.requestedRate.toFixed(2),
    why: moment.isHolding ? "fills the buffer" : cause === null ? "as asked" : CAUSES[cause],
    "buffer": `${moment.bufferSeconds.toFixed(1)} s`,
    "until a break": until === null ? "none in sight" : `${until.toFixed(0)} s`,
    "breaks": String(moment.nBreaks),
    "media / wall time": `${moment.playedSeconds.toFixed(0)} / ${now.toFixed(0)} s`,
    "mean rate": decision === null ? "–" : decision.meanRate.toFixed(2),
    "rendition, at most": `${kilobits(moment.bitrate)}, ${kilobits(moment.bitrateLimit)}`,
  });
  const past = moments.filter(({ wallSeconds }) => wallSeconds >= now - PAST_SECONDS);
  const reaches = decision?.reaches ?? [];
  const at = [...past.map(({ wallSeconds }) => wallSeconds), now + 0.01, ...reaches.map(({ seconds }) => now + seconds)];
  const ahead = (of: (reach: (typeof reaches)[number]) => number): (number | null)[] => {
    const [near] = reaches;
    return [...past.map(() => null), near === undefined ? null : of(near), ...reaches.map(of)];
  };
  const nothing = at.slice(past.length).map(() => null);
  ratePlot.show(at, [...past.map(({ rate }) => rate), ...nothing], [...past.map(({ requestedRate }) => requestedRate), ...nothing]);
  bufferPlot.show(at, [...past.map(({ bufferSeconds }) => bufferSeconds), ...nothing]);
  arrivalPlot.show(
    at,
    [...smooth(past), ...nothing],
    ahead(({ expectedRate }) => expectedRate),
    ahead(({ greatestRate }) => greatestRate),
    ahead(({ leastRate }) => leastRate),
  );
}

/** Arrival over four seconds, as the forecast takes it. */
function smooth(past: Moment[]): (number | null)[] {
  return past.map((_, idx) => {
    const known = past.slice(Math.max(idx - 15, 0), idx + 1).flatMap(({ arrivalRate }) => arrivalRate ?? []);
    return known.length === 0 ? null : known.reduce((sum, rate) => sum + rate, 0) / known.length;
  });
}

function kilobits(bits: number | null): string {
  return bits === null ? "–" : Number.isFinite(bits) ? `${Math.round(bits / 1_000)}k` : "any";
}

function tell(figures: Record<string, string>): void {
  if (indicators.childElementCount === 0) {
    for (const name of Object.keys(figures)) {
      const entry = document.createElement("div");
      const [term, value] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = name;
      entry.append(term, value);
      indicators.append(entry);
    }
  }
  Object.values(figures).forEach((text, idx) => {
    indicators.children[idx]!.lastElementChild!.textContent = text;
  });
}

function fill(name: string, titles: Record<string, string>): void {
  const select = form.elements.namedItem(name) as HTMLSelectElement;
  select.append(...Object.entries(titles).map(([value, title]) => new Option(title, value)));
}
