// A last line for machines: how many browser tests passed, failed and were skipped.

import type { FullResult, Reporter, TestCase, TestResult } from "@playwright/test/reporter";

export default class Count implements Reporter {
  #nPassed = 0;
  #nFailed = 0;
  #nSkipped = 0;

  onTestEnd(_test: TestCase, result: TestResult): void {
    if (result.status === "passed") this.#nPassed += 1;
    else if (result.status === "skipped") this.#nSkipped += 1;
    else this.#nFailed += 1;
  }

  onEnd(result: FullResult): void {
    // A run that broke before any test did not pass.
    const nBroken = result.status !== "passed" && this.#nFailed === 0 ? 1 : 0;
    const skipped = this.#nSkipped > 0 ? `, ${this.#nSkipped} skipped` : "";
    this.#print(`browser: ${this.#nPassed} passed, ${this.#nFailed + nBroken} failed${skipped}`);
  }

  printsToStdio(): boolean {
    return false;
  }

  #print(line: string): void {
    process.stdout.write(`${line}\n`);
  }
}
