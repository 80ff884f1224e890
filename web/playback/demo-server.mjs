// Serves the demo until it is interrupted: `node demo-server.mjs MEDIA_FOLDER [PORT]`.

import { join } from "node:path";

import { makeMedia } from "./media.mjs";
import { serve } from "./server.mjs";

const MEDIA_SECONDS = 600;

const [media, port = "0"] = process.argv.slice(2);
if (media === undefined || !/^\d+$/.test(port)) {
  console.error("usage: node demo-server.mjs MEDIA_FOLDER [PORT]");
  process.exit(2);
}
await makeMedia(media, MEDIA_SECONDS);
const { url } = await serve({ pages: join(import.meta.dirname, "dist"), media, port: Number(port) });
console.log(`the demo is at ${url}`);
