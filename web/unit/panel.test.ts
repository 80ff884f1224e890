// What is said of errors one step ahead.

import { expect, test } from "vitest";

import { residualsText } from "../src/panel.ts";

const WHITE = {
  n: 512,
  n_lags: 27,
  significant_ratio: 0.04,
  ljung_box_p: 0.41,
  turning_points_p: 0.6,
  rises_p: 0.9,
  normality_r_squared: 0.9987,
  normality_p: 0.3,
};

test("errors that pass for normal noise are called so", () => {
  expect(residualsText(WHITE)).toBe("errors one step ahead: like noise (p 0.410), normal (R² 0.999)");
});

test("what is left to be predicted, or is not normal, is named", () => {
  const left = { ...WHITE, ljung_box_p: 0.0001, normality_p: 0.001, normality_r_squared: 0.92 };
  expect(residualsText(left)).toBe("errors one step ahead: not like noise (p < 0.001), not normal (R² 0.920)");
});
