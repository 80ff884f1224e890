// The plug-in for dash.js.

import { MediaPlayer, type FragmentRequest, type MediaPlayerClass, type MediaType } from "dashjs";

import { nowSeconds, Pace, type Options } from "./pace.ts";

/** What a fragment's events bring; the package's types lack the representation. */
interface Load {
  request: FragmentRequest & { representation: { id: string } | null };
  response?: ArrayBuffer | null;
}

const KINDS = ["video", "audio"] as const;

/** Drives the rate of what `player` plays, instead of its own catching up. It has to be initialized already. */
export function paceDash(player: MediaPlayerClass, options: Options): Pace {
  const isDriving = options.isWatching !== true;
  const catchup = { ...player.getSettings().streaming?.liveCatchup?.playbackRate };
  // Switched off as a whole, it would set the rate once more, whenever there is enough to play.
  if (isDriving) player.updateSettings({ streaming: { liveCatchup: { playbackRate: { min: 0, max: 0 } } } });
  // The kind whose renditions differ.
  const kind = (): MediaType => (player.getRepresentationsByType("video").length > 0 ? "video" : "audio");
  const others = () =>
    KINDS.filter((other) => other !== kind())
      .map((other) => player.getCurrentRepresentationForType(other)?.bandwidth ?? 0)
      .reduce((sum, bits) => sum + bits, 0);

  const begin = (event: unknown) => {
    const { request } = event as Load;
    if (request.type === "MediaSegment") pace.meter.begin(request, nowSeconds(), () => request.bytesLoaded || 0);
  };
  const end = (event: unknown) => {
    const { request, response } = event as Load;
    if (request.type !== "MediaSegment") return;
    const { mediaType: kind, representation, duration: mediaSeconds } = request;
    const bytes = response?.byteLength ?? 0;
    pace.meter.end(request, nowSeconds(), { kind, rendition: representation?.id ?? "", mediaSeconds, bytes });
  };
  const drop = (event: unknown) => pace.meter.end((event as Load).request, nowSeconds(), null);
  const pace = new Pace(
    {
      element: player.getVideoElement(),
      capacitySeconds: () => player.getSettings().streaming?.buffer?.bufferTimeDefault ?? 18,
      live: () =>
        player.isReady() && player.isDynamic()
          ? { offsetSeconds: Math.max(player.getCurrentLiveLatency() || 0, 0), targetSeconds: player.getTargetLiveDelay() }
          : null,
      bitrates: () =>
        // All of them, and not only those that the limit leaves.
        player.isReady()
          ? player.getRepresentationsByTypeUnfiltered(kind()).map(({ bandwidth }) => bandwidth + others())
          : [],
      bitrate: () => {
        const bandwidth = player.isReady() ? player.getCurrentRepresentationForType(kind())?.bandwidth : undefined;
        return bandwidth === undefined ? null : bandwidth + others();
      },
      limitBitrate: (bitsPerSecond) => {
        // In kilobits, and a rendition that is exactly the limit may be picked.
        const kilobits = Math.ceil((bitsPerSecond - others()) / 1_000);
        player.updateSettings({ streaming: { abr: { maxBitrate: { [kind()]: kilobits } } } });
      },
      detach: () => {
        player.off(MediaPlayer.events.FRAGMENT_LOADING_STARTED, begin);
        player.off(MediaPlayer.events.FRAGMENT_LOADING_COMPLETED, end);
        player.off(MediaPlayer.events.FRAGMENT_LOADING_ABANDONED, drop);
        if (!isDriving) return;
        player.updateSettings({ streaming: { abr: { maxBitrate: { audio: -1, video: -1 } } } });
        player.updateSettings({ streaming: { liveCatchup: { playbackRate: catchup } } });
      },
    },
    options,
  );
  player.on(MediaPlayer.events.FRAGMENT_LOADING_STARTED, begin);
  player.on(MediaPlayer.events.FRAGMENT_LOADING_COMPLETED, end);
  player.on(MediaPlayer.events.FRAGMENT_LOADING_ABANDONED, drop);
  return pace;
}
