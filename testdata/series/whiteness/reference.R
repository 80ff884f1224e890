# Prints reference.csv: tests for noise and for normality, per series.
# Made with R 4.2.2 and tseries 0.10-53 (stats::Box.test, tseries::kpss.test); the turning point and difference-sign tests
# and Royston's p-value are the published formulas, written out. Run in this folder: Rscript reference.R > reference.csv
options(digits = 15)
read <- function(name) read.csv(sprintf("../../predict/ar/%s.csv", name))[[1]]
show <- function(series, what, ...) cat(series, what, sapply(list(...), format, digits = 15), sep = ",", fill = 1000)

counts <- function(x) {
  n <- length(x)
  two_sided <- function(found, mean, variance) c(found, mean, sqrt(variance), 2 * pnorm(-abs(found - mean) / sqrt(variance)))
  middle <- x[2:(n - 1)]; before <- x[1:(n - 2)]; after <- x[3:n]
  turns <- sum((middle > before & middle > after) | (middle < before & middle < after))
  list(turns = two_sided(turns, 2 * (n - 2) / 3, (16 * n - 29) / 90),
       rises = two_sided(sum(diff(x) > 0), (n - 1) / 2, (n + 1) / 12))
}

shapiro_francia <- function(x) {
  n <- length(x); q <- qnorm(ppoints(n, a = 3 / 8))
  fit <- lm(sort(x) ~ q); w <- summary(fit)$r.squared
  u <- log(n); v <- log(u)
  z <- (log(1 - w) - (-1.2725 + 1.0521 * (v - u))) / (1.0308 - 0.26758 * (v + 2 / u))
  c(w, coef(fit)[[1]], coef(fit)[[2]], pnorm(z, lower.tail = FALSE))
}

cat("series,test,figures\n")
for (name in c("nile", "lake_huron", "sunspots", "dow_jones", "nile_errors")) {
  # One-step errors of a fixed AR(2), so that no optimizer is part of the numbers.
  x <- if (name == "nile_errors") { z <- read("nile") - 919.35; stats::filter(z, c(1, -0.41, -0.18), sides = 1)[-(1:2)] } else read(name)
  fitted <- if (name == "nile_errors") 2 else 0
  for (type in c("Ljung-Box", "Box-Pierce")) {
    q <- Box.test(x, lag = 10, type = type, fitdf = fitted)
    show(name, type, q$statistic[[1]], q$parameter[[1]], q$p.value)
  }
  r <- acf(x, 10, plot = FALSE)$acf[2:11]
  show(name, "significant share", mean(abs(r) > 1.96 / sqrt(length(x))))
  n <- counts(x)
  do.call(show, c(name, "turning points", as.list(n$turns)))
  do.call(show, c(name, "rises", as.list(n$rises)))
  do.call(show, c(name, "normality", as.list(shapiro_francia(x))))
  k <- suppressWarnings(tseries::kpss.test(x, null = "Trend"))
  show(name, "KPSS trend", k$statistic[[1]], k$parameter[[1]], k$p.value)
}
