// A last line for machines: how many browser tests passed and failed.

import type { FullResult, Reporter, TestCase, TestResult } from "@playwright/test/reporter";

export default class Count implements Reporter {
  #nPassed = 0;
  #nFailed = 0;

  onTestEnd(_test: TestCase, result: TestResult): void {
    if (result.status === "passed") this.#nPassed += 1;
    else this.#nFailed += 1;
  }

  onEnd(result: FullResult): void {
    // A run that broke before any test did not pass.
    const nBroken = result.status !== "passed" && this.#nFailed === 0 ? 1 : 0;
    this.#print(`browser: ${this.#nPassed} passed, ${this.#nFailed + nBroken} failed`);
  }

  printsToStdio(): boolean {
    return false;
  }

  #print(line: string): void {
    process.stdout.write(`${line}\n`);
  }
}
