# Prints the numbers that crates/series/tests/it/statistics.rs checks against.
# Made with R 4.2.2, fracdiff 1.5-2, tseries 0.10-53; run in this folder: Rscript reference.R
options(digits = 15)
read <- function(name) read.csv(sprintf("../../predict/ar/%s.csv", name))[[1]]
for (name in c("nile", "lake_huron", "sunspots")) {
  x <- read(name)
  cat(name, "\n")
  cat("  acf 1..5:", acf(x, 5, plot = FALSE)$acf[2:6], "\n")
  cat("  pacf 1..5:", pacf(x, 5, plot = FALSE)$acf[1:5], "\n")
  g <- fracdiff::fdGPH(x)
  cat("  GPH d, sd.as, sd.reg:", g$d, g$sd.as, g$sd.reg, "\n")
  k <- suppressWarnings(tseries::kpss.test(x))
  cat("  KPSS:", k$statistic, k$parameter, k$p.value, "\n")
  n <- length(x)
  p <- (Mod(fft(x - mean(x)))^2 / (2 * pi * n))[2:(n %/% 2 + 1)]
  cat("  periodogram 1..3, last:", p[1:3], p[length(p)], "\n")
}
