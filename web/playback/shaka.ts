// The plug-in for Shaka Player.

import shaka from "shaka-player";

import type { LiveEdge } from "./core.ts";
import { nowSeconds, Pace, type Options } from "./pace.ts";

/** What the player's events of downloads carry. */
interface Download {
  request: shaka.extern.Request;
  response?: shaka.extern.Response;
  context?: shaka.extern.RequestContext;
}

/** Drives the rate of what `player` plays, instead of its own two speeds. It has to be attached already, and not loaded yet. */
export function paceShaka(player: shaka.Player, options: Options): Pace {
  const element = player.getMediaElement();
  if (element === null) throw new Error("Shaka has no media element yet: call `attach` first");
  const networking = player.getNetworkingEngine();
  if (networking === null) throw new Error("Shaka has no networking engine: it was destroyed");
  const { abrFactory, networking: network, streaming } = player.getConfiguration();
  if (options.isWatching !== true) {
    player.configure({ streaming: { liveSync: { enabled: false }, vodDynamicPlaybackRate: false } });
  }

  const loaded = new Map<shaka.extern.Request, number>();
  const isMedia = (type: number, context: shaka.extern.RequestContext | undefined): boolean =>
    type === shaka.net.NetworkingEngine.RequestType.SEGMENT &&
    context?.type === shaka.net.NetworkingEngine.AdvancedRequestType.MEDIA_SEGMENT;
  const begin = (type: number, request: shaka.extern.Request, context?: shaka.extern.RequestContext): void => {
    if (!isMedia(type, context)) return;
    loaded.set(request, 0);
    pace.meter.begin(request, nowSeconds(), () => loaded.get(request) ?? 0);
  };
  const end = (event: Event): void => {
    const { request, response, context } = event as unknown as Download;
    if (!loaded.has(request)) return;
    const { stream, segment } = context ?? {};
    const bytes = response === undefined ? 0 : new Uint8Array(response.data as ArrayBuffer).byteLength;
    const mediaSeconds = segment ? segment.getEndTime() - segment.getStartTime() : 0;
    pace.meter.end(request, nowSeconds(), { kind: stream?.type ?? "", rendition: String(stream?.id), mediaSeconds, bytes });
    loaded.delete(request);
  };
  const drop = (event: Event): void => {
    const { request } = event as unknown as Download;
    pace.meter.end(request, nowSeconds(), null);
    loaded.delete(request);
  };
  // Progress is told to the one who chooses renditions, and to nobody else; and by default in pieces that are longer
  // than many segments of sound.
  player.configure("networking.minBytesForProgressEvents", 1);
  player.configure("abrFactory", () => {
    const abr = abrFactory();
    const told = abr.segmentDownloaded.bind(abr);
    abr.segmentDownloaded = (ms, bytes, allowSwitch, request, context) => {
      const before = request ? loaded.get(request) : undefined;
      if (request && before !== undefined) loaded.set(request, before + bytes);
      return told(ms, bytes, allowSwitch, request, context);
    };
    return abr;
  });

  // Without a target of its own, the player is where it should be when play begins.
  let targetSeconds: number | null = streaming.liveSync.enabled ? streaming.liveSync.targetLatency : null;
  const live = (): LiveEdge | null => {
    if (!player.isLive()) return null;
    const offsetSeconds = Math.max(player.seekRange().end - element.currentTime, 0);
    if (targetSeconds === null && element.currentTime > 0) targetSeconds = offsetSeconds;
    return targetSeconds === null ? null : { offsetSeconds, targetSeconds };
  };
  const pace = new Pace(
    {
      element,
      capacitySeconds: () => player.getConfiguration().streaming.bufferingGoal,
      live,
      bitrates: () => player.getVariantTracks().map(({ bandwidth }) => bandwidth),
      bitrate: () => player.getVariantTracks().find(({ active }) => active)?.bandwidth ?? null,
      limitBitrate: (bitsPerSecond) => player.configure("abr.restrictions.maxBandwidth", bitsPerSecond),
      detach: () => {
        networking.unregisterRequestFilter(begin);
        player.removeEventListener("downloadcompleted", end);
        player.removeEventListener("downloadfailed", drop);
        player.configure({ abrFactory, networking: network, streaming: { liveSync: streaming.liveSync, vodDynamicPlaybackRate: streaming.vodDynamicPlaybackRate } });
        if (options.isWatching !== true) player.configure("abr.restrictions.maxBandwidth", Infinity);
      },
    },
    options,
  );
  networking.registerRequestFilter(begin);
  player.addEventListener("downloadcompleted", end);
  player.addEventListener("downloadfailed", drop);
  return pace;
}
