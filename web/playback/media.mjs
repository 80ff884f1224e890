// Media for the demo and the tests: a lecture that espeak-ng speaks over a quiet chord, packed by ffmpeg. None is kept
// in the repository.

import { execFile } from "node:child_process";
import { access, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The renditions, by the bits per second that their encoder aims at. */
export const RENDITIONS = [32_000, 64_000, 128_000];

/** Media seconds of a segment: that of AAC's frames of 1024 samples at 48 kHz that come next to a second. */
export const SEGMENT_SECONDS = (1_024 * 47) / 48_000;

const WORDS =
  "A stream that arrives at nine tenths of its rate stops again and again. Played a little slower, with its pitch kept, " +
  "hardly anybody notices. So this player looks ahead: from what has arrived, and how fast, it foresees when the buffer " +
  "would run empty, and slows down before that, no faster than two parts in a hundred a second. ";

/**
 * Makes what is missing in `folder`: `RATE/init.mp4` and `RATE/N.m4s` of each rendition, and `lecture.mp4` with a
 * picture.
 *
 * @param {string} folder
 * @param {number} seconds how long they are
 */
export async function makeMedia(folder, seconds) {
  const isThere = await access(join(folder, "complete")).then(() => true, () => false);
  if (isThere) return;
  const work = `${folder}.${process.pid}`;
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { recursive: true });
  const text = join(work, "words.txt");
  await writeFile(text, WORDS.repeat(Math.ceil(seconds / 15)));
  const voice = join(work, "voice.wav");
  await run("espeak-ng", ["-v", "en", "-f", text, "-w", voice]);
  // Noise under it keeps the encoder at its bit rate in pauses, too.
  const chord = `aevalsrc=0.05*sin(220*2*PI*t)+0.05*sin(277*2*PI*t)+0.04*sin(330*2*PI*t)+0.03*(random(0)-0.5):s=48000:d=${seconds}`;
  const sound = join(work, "sound.wav");
  const ffmpeg = ["-hide_banner", "-loglevel", "error", "-y"];
  await run("ffmpeg", [...ffmpeg, "-i", voice, "-f", "lavfi", "-i", chord, "-filter_complex",
    "[0:a]aresample=48000[v];[v][1:a]amix=inputs=2:duration=shortest:normalize=0", "-ac", "2", "-t", String(seconds), sound]);
  for (const bits of RENDITIONS) {
    const rendition = join(work, String(bits));
    await mkdir(rendition);
    await run("ffmpeg", [...ffmpeg, "-i", sound, "-c:a", "aac", "-b:a", String(bits), "-f", "hls", "-hls_segment_type", "fmp4",
      "-hls_time", SEGMENT_SECONDS.toFixed(6), "-hls_list_size", "0", "-start_number", "1", "-hls_fmp4_init_filename", "init.mp4",
      "-hls_segment_filename", join(rendition, "%d.m4s"), join(rendition, "list.m3u8")]);
  }
  await run("ffmpeg", [...ffmpeg, "-i", sound, "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=12", "-shortest", "-c:v", "libx264",
    "-preset", "ultrafast", "-b:v", "200k", "-maxrate", "200k", "-bufsize", "400k", "-g", "24", "-pix_fmt", "yuv420p", "-c:a", "aac", "-b:a", "64k",
    "-movflags", "+faststart", join(work, "lecture.mp4")]);
  await Promise.all([voice, text, sound].map((file) => rm(file)));
  await writeFile(join(work, "complete"), "");
  // Whole, or not there: two that make it at the same time make the same.
  await rm(folder, { recursive: true, force: true });
  await rename(work, folder).catch(async () => rm(work, { recursive: true, force: true }));
}
