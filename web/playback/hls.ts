// The plug-in for hls.js.

import { Events, type default as Hls, type Fragment } from "hls.js";

import { nowSeconds, Pace, type Options } from "./pace.ts";

/** Drives the rate of what `hls` plays, instead of its own `maxLiveSyncPlaybackRate`. Its media have to be attached already. */
export function paceHls(hls: Hls, options: Options): Pace {
  const element = hls.media;
  if (element === null) throw new Error("hls.js has no media element yet: call `attachMedia` first");
  const ownRate = hls.config.maxLiveSyncPlaybackRate;
  if (options.isWatching !== true) hls.config.maxLiveSyncPlaybackRate = 1;

  const begin = (_: unknown, { frag }: { frag: Fragment }) => {
    if (frag.sn !== "initSegment") pace.meter.begin(frag, nowSeconds(), () => frag.stats.loaded);
  };
  const end = (_: unknown, { frag }: { frag: Fragment }) => {
    const { duration: mediaSeconds, stats, type: kind, level } = frag;
    pace.meter.end(frag, nowSeconds(), { kind, rendition: String(level), mediaSeconds, bytes: stats.loaded });
  };
  const drop = (_: unknown, { frag }: { frag?: Fragment | undefined }) => {
    if (frag !== undefined) pace.meter.end(frag, nowSeconds(), null);
  };
  const pace = new Pace(
    {
      element,
      capacitySeconds: () => hls.config.maxBufferLength,
      live: () =>
        hls.latestLevelDetails?.live === true && hls.targetLatency !== null
          ? { offsetSeconds: Math.max(hls.latency, 0), targetSeconds: hls.targetLatency }
          : null,
      bitrates: () => hls.levels.map(({ bitrate }) => bitrate),
      bitrate: () => hls.levels[hls.loadLevel]?.bitrate ?? null,
      limitBitrate: (bitsPerSecond) => {
        hls.autoLevelCapping = hls.levels.findLastIndex(({ bitrate }) => bitrate <= bitsPerSecond);
      },
      detach: () => {
        hls.off(Events.FRAG_LOADING, begin);
        hls.off(Events.FRAG_LOADED, end);
        hls.off(Events.FRAG_LOAD_EMERGENCY_ABORTED, drop);
        hls.off(Events.ERROR, drop);
        hls.config.maxLiveSyncPlaybackRate = ownRate;
        if (options.isWatching !== true) hls.autoLevelCapping = -1;
      },
    },
    options,
  );
  hls.on(Events.FRAG_LOADING, begin);
  hls.on(Events.FRAG_LOADED, end);
  hls.on(Events.FRAG_LOAD_EMERGENCY_ABORTED, drop);
  hls.on(Events.ERROR, drop);
  return pace;
}
