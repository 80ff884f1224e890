// How the page is built: one HTML file and hashed assets that stand on their own.

import { defineConfig, type Plugin } from "vite";

/** What the page may do at all: nothing but the node's own origin, and no text ever becomes markup. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** The oldest browsers with `light-dark()` and registered colours: those of 2024. */
const BROWSERS = ["chrome123", "firefox128", "safari17.5"];

// Left out of the development server, which brings its own inline styles.
const policy: Plugin = {
  name: "content-security-policy",
  apply: "build",
  transformIndexHtml: () => [
    {
      tag: "meta",
      attrs: { "http-equiv": "Content-Security-Policy", content: CONTENT_SECURITY_POLICY },
      injectTo: "head-prepend",
    },
  ],
};

export default defineConfig({
  base: "./",
  plugins: [policy],
  build: {
    target: BROWSERS,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
  },
  server: {
    proxy: { "/api": { target: process.env["FORETOP_NODE"] ?? "http://127.0.0.1:7311", changeOrigin: true } },
  },
});
