// How the demo and the page that records players' laws are built.

import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: ["chrome123", "firefox128", "safari17.5"],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Players are large, and come when they are chosen.
    chunkSizeWarningLimit: 2_000,
    rolldownOptions: { input: { demo: `${import.meta.dirname}/index.html`, laws: `${import.meta.dirname}/laws.html` } },
  },
});
