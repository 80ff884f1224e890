// The browser tests: Debian's Chromium against the real binary.

import { defineConfig } from "@playwright/test";

import { CHROMIUM, FLAGS } from "./browser.mjs";

export default defineConfig({
  testDir: "tests",
  testMatch: "*.spec.ts",
  outputDir: "test-results",
  // Each worker runs a node and a Chromium.
  workers: 2,
  // A node samples once a second, and a busy machine is slow: these are limits for what hangs, not for what is slow.
  timeout: 120_000,
  expect: { timeout: 45_000 },
  forbidOnly: true,
  reporter: [["list"], ["./tests/count.ts"]],
  use: {
    launchOptions: { executablePath: CHROMIUM, args: FLAGS },
    viewport: { width: 1280, height: 900 },
    colorScheme: "light",
    timezoneId: "UTC",
    trace: "retain-on-failure",
  },
});
