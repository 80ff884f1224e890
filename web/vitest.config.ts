// Tests of the pure parts; those in a browser are Playwright's.

import { defineConfig } from "vitest/config";

export default defineConfig({ test: { include: ["unit/**/*.test.ts"] } });
