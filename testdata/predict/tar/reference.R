# Writes threshold autoregressions that crates/predict/tests/it/tar.rs is held against, by brute force: for each delay and each
# threshold two lm(), with at least 15 % of the rows, and half of 2 (order + 3), on either side. Then means and standard
# deviations of leads 1 to 20 over 200,000 simulated paths.
# Made with R 4.2.2; run in this folder: Rscript reference.R
lynx_log <- log10(as.numeric(lynx))
set.seed(1)
simulated <- numeric(600)
for (t in 3:600) {
  low <- simulated[t - 2] <= 0.5
  simulated[t] <- if (low) 1 + 0.5 * simulated[t - 1] - 0.2 * simulated[t - 2] + rnorm(1)
                  else -0.5 + 0.8 * simulated[t - 1] - 0.4 * simulated[t - 2] + 0.5 * rnorm(1)
}
simulated <- round(simulated[101:600], 6)
write.csv(data.frame(lynx_log = sprintf("%.15g", lynx_log)), "lynx_log.csv", row.names = FALSE, quote = FALSE)
write.csv(data.frame(simulated), "simulated.csv", row.names = FALSE, quote = FALSE)
rows <- list()
fit <- function(name, z, order, delays) {
  n <- length(z)
  targets <- z[(order + 1):n]
  past <- sapply(1:order, function(lag) z[(order + 1 - lag):(n - lag)])
  n_side <- max(ceiling(0.15 * length(targets)), order + 3)
  best <- list(squares = Inf)
  for (delay in delays) {
    decider <- past[, delay]
    for (threshold in sort(unique(decider))) {
      low <- decider <= threshold
      if (sum(low) < n_side || sum(!low) < n_side) next
      below <- lm(targets[low] ~ past[low, ])
      above <- lm(targets[!low] ~ past[!low, ])
      squares <- sum(resid(below)^2) + sum(resid(above)^2)
      if (squares < best$squares) best <- list(squares = squares, delay = delay, threshold = threshold, below = below, above = above)
    }
  }
  put <- function(quantity, values)
    rows[[length(rows) + 1]] <<- data.frame(series = name, order, quantity, idx = seq_along(values), value = sprintf("%.15g", values))
  put("squares", best$squares)
  put("delay", best$delay)
  put("threshold", best$threshold)
  put("phi1", unname(coef(best$below)))
  put("phi2", unname(coef(best$above)))
  deviations <- c(sqrt(mean(resid(best$below)^2)), sqrt(mean(resid(best$above)^2)))
  put("variance", deviations^2)
  put("error1", unname(summary(best$below)$coefficients[, 2]))
  put("error2", unname(summary(best$above)$coefficients[, 2]))
  counts <- c(length(resid(best$below)), length(resid(best$above)))
  put("log_likelihood", -sum(counts * (log(2 * pi * deviations^2) + 1)) / 2)
  n_paths <- 200000
  paths <- matrix(z[(n - order + 1):n], n_paths, order, byrow = TRUE)
  for (lead in 1:20) {
    recent <- paths[, ncol(paths) - (1:order) + 1, drop = FALSE]
    low <- recent[, best$delay] <= best$threshold
    one <- cbind(1, recent) %*% coef(best$below) + deviations[1] * rnorm(n_paths)
    two <- cbind(1, recent) %*% coef(best$above) + deviations[2] * rnorm(n_paths)
    paths <- cbind(paths, ifelse(low, one, two))
  }
  put("mean", colMeans(paths)[order + 1:20])
  put("deviation", apply(paths, 2, sd)[order + 1:20])
}
fit("lynx_log", lynx_log, 2, 1:2)
fit("lynx_log", lynx_log, 5, 1:5)
fit("simulated", simulated, 2, 1:2)
fit("simulated", simulated, 1, 1)
write.csv(do.call(rbind, rows), "reference.csv", row.names = FALSE, quote = FALSE)
