import { expect, test } from "vitest";

import { limitsText } from "../src/status.ts";

test("limits that are tighter than the host are said in the first line", () => {
  const memory_bytes = 300 * 2 ** 20;
  expect(limitsText({ memory_bytes, cpu_cores: 1.5 })).toBe("limited to 300 MiB of memory and 1.5 cores by its control group");
  expect(limitsText({ memory_bytes })).toBe("limited to 300 MiB of memory by its control group");
  expect(limitsText({ cpu_cores: 0.5 })).toBe("limited to 0.5 cores by its control group");
  expect(limitsText(undefined)).toBe("");
});
