// Records what a player's own law was told and what it did: `laws.html?player=hls.js&link=/links/1/&live=1`.
//
// Each line is written in the very event in which the player decides, after it has. What the buffer held is read
// before: dash.js decides by what it held at the event before.

import { nowSeconds } from "./pace.ts";

/** A moment at which a law decides. */
export interface Line {
  seconds: number;
  bufferSeconds: number;
  /** Of a live medium. */
  offsetSeconds: number | null;
  targetSeconds: number;
  rate: number;
}

declare global {
  interface Window {
    lines: Line[];
    /** Why there will be no more of them. */
    failure: string | null;
  }
}

/** What is played to be 3 s behind, as far as the player lets it. */
const TARGET_SECONDS = 3;

/** What a player keeps ahead. */
const CAPACITY_SECONDS = 6;

/** Says what a law is told. */
interface Look {
  bufferSeconds: () => number;
  /** Of a live medium. */
  edge: () => { offsetSeconds: number; targetSeconds: number };
}

const query = new URLSearchParams(location.search);
const link = query.get("link") ?? "";
const isLive = query.get("live") === "1";
const element = document.querySelector("audio")!;
window.lines = [];
window.failure = null;

const players: Record<string, () => Promise<Look>> = { "hls.js": hls, "dash.js": dash, shaka };
const name = query.get("player") ?? "";
const start = players[name];
if (start === undefined) throw new Error(`\`${name}\` is no player: ${Object.keys(players).join(", ")}`);
start().then(record, fail);

function fail(error: unknown): void {
  window.failure = error instanceof Error ? error.message : JSON.stringify(error);
}

function record(look: Look): void {
  let bufferSeconds = 0;
  element.addEventListener("timeupdate", () => (bufferSeconds = look.bufferSeconds()), { capture: true });
  element.addEventListener("timeupdate", () => {
    // A player that waits does not decide.
    const isPlaying = element.playbackRate > 0 && !element.paused && !element.seeking;
    if (!isPlaying || element.readyState < HTMLMediaElement.HAVE_FUTURE_DATA) return;
    const { offsetSeconds, targetSeconds } = isLive ? look.edge() : { offsetSeconds: null, targetSeconds: 0 };
    window.lines.push({ seconds: nowSeconds(), bufferSeconds, offsetSeconds, targetSeconds, rate: element.playbackRate });
  });
  element.addEventListener("error", () => fail(new Error(element.error?.message)));
  element.play().catch(fail);
}

function toLastEnd(): number {
  const { buffered, currentTime } = element;
  return buffered.length === 0 ? 0 : Math.max(buffered.end(buffered.length - 1) - currentTime, 0);
}

async function hls(): Promise<Look> {
  const { default: Hls } = await import("hls.js");
  const hls = new Hls({
    maxLiveSyncPlaybackRate: 1.5,
    liveSyncDuration: TARGET_SECONDS,
    liveMaxLatencyDuration: 60,
    // A target that moves at each break would be a third law.
    liveSyncOnStallIncrease: 0,
  });
  hls.on(Hls.Events.ERROR, (_, { fatal, details }) => fatal && fail(new Error(details)));
  hls.loadSource(new URL(`${link}hls.m3u8`, location.href).href);
  hls.attachMedia(element);
  await new Promise((resolve) => hls.once(Hls.Events.FRAG_BUFFERED, resolve));
  const edge = () => ({ offsetSeconds: hls.latency, targetSeconds: hls.targetLatency ?? TARGET_SECONDS });
  return { bufferSeconds: toLastEnd, edge };
}

async function dash(): Promise<Look> {
  const { MediaPlayer } = await import("dashjs");
  const player = MediaPlayer().create();
  player.updateSettings({
    streaming: {
      delay: { liveDelay: TARGET_SECONDS },
      liveCatchup: {
        enabled: true,
        mode: "liveCatchupModeLoLP",
        playbackBufferMin: 0.5,
        playbackRate: { min: -0.5, max: 0.5 },
        maxDrift: 60,
      },
    },
  });
  player.initialize(element, new URL(`${link}dash.mpd`, location.href).href, false);
  await new Promise((resolve) => player.on(MediaPlayer.events.FRAGMENT_LOADING_COMPLETED, resolve));
  return {
    bufferSeconds: () => player.getBufferLength("audio") || 0,
    edge: () => ({ offsetSeconds: player.getCurrentLiveLatency(), targetSeconds: player.getTargetLiveDelay() }),
  };
}

async function shaka(): Promise<Look> {
  const { default: shaka } = await import("shaka-player");
  const player = new shaka.Player();
  player.addEventListener("error", (event) => fail((event as CustomEvent).detail));
  await player.attach(element);
  player.configure({
    manifest: { defaultPresentationDelay: TARGET_SECONDS },
    streaming: {
      bufferingGoal: CAPACITY_SECONDS,
      vodDynamicPlaybackRate: true,
      liveSync: { enabled: true, targetLatency: TARGET_SECONDS },
    },
  });
  await player.load(new URL(`${link}dash.mpd`, location.href).href);
  return {
    bufferSeconds: toLastEnd,
    edge: () => ({ offsetSeconds: player.seekRange().end - element.currentTime, targetSeconds: TARGET_SECONDS }),
  };
}
