# Writes what crates/predict/tests/it/arfima.rs is held against: reference.csv with fracdiff's estimates and, at given
# coefficients, exact log-likelihoods and forecasts; simulated_*.csv with series of fracdiff.sim.
# Exact numbers come from the whole matrix of autocovariances and its Cholesky factor, no recursion.
# fracdiff takes a mean of 0 for granted and turns the sign of theta: here samples go in less their mean, theta comes out as R's arima has it.
# Made with R 4.2.2 and fracdiff 1.5-2; run in this folder: Rscript reference.R
library(fracdiff)
read <- function(path) { t <- read.csv(path); t[[ncol(t)]] }
nab <- function(name, n) read(sprintf("../../nab/%s.csv", name))[1:n]

simulate <- function(name, seed, n, ar, ma, d) {
  set.seed(seed)
  x <- round(fracdiff.sim(n, ar = ar, ma = if (length(ma)) -ma, d = d)$series, 6)
  write.csv(data.frame(value = x), sprintf("simulated_%s.csv", name), row.names = FALSE)
  x
}
series <- list(
  nile = read("../ar/nile.csv"), lh = read("../ar/lh.csv"),
  ec2_first_600 = nab("ec2_cpu_utilization_5f5533", 600), ec2_first_2000 = nab("ec2_cpu_utilization_5f5533", 2000),
  rds_first_600 = nab("rds_cpu_utilization_e47b3b", 600), elb_first_2000 = nab("elb_request_count_8c0756", 2000),
  simulated_0d0 = simulate("0d0", 1, 800, NULL, NULL, 0.3),
  simulated_1d1 = simulate("1d1", 2, 1000, 0.5, 0.3, 0.25),
  simulated_2d1 = simulate("2d1", 3, 600, c(0.9, -0.4), -0.5, 0.35),
  simulated_antipersistent = simulate("antipersistent", 4, 1000, 0.5, 0.3, -0.3))

# Autocovariances with innovations of variance 1: those of the fractional noise, weighted by those of the ARMA (Bertelli and Caporin 2002).
autocovariances <- function(phi, theta, d, n, reach = 4000) {
  psi <- c(1, ARMAtoMA(phi, theta, reach))
  arma <- sapply(0:reach, function(k) sum(psi[1:(reach + 1 - k)] * psi[(1 + k):(reach + 1)]))
  k <- 0:(n + reach)
  noise <- exp(lgamma(1 - 2 * d) - 2 * lgamma(1 - d)) * cumprod(c(1, (k[-1] - 1 + d) / (k[-1] - d)))
  sapply(0:(n - 1), function(k) noise[k + 1] * arma[1] + sum(arma[-1] * (noise[abs(k - 1:reach) + 1] + noise[k + 1:reach + 1])))
}
# Mean and innovation variance at their best.
exact <- function(x, phi, theta, d) {
  n <- length(x)
  factor <- chol(toeplitz(autocovariances(phi, theta, d, n)))
  white <- backsolve(factor, cbind(x, 1), transpose = TRUE)
  mean <- sum(white[, 1] * white[, 2]) / sum(white[, 2]^2)
  s2 <- sum((white[, 1] - mean * white[, 2])^2) / n
  list(mean = mean, innovation_variance = s2, log_likelihood = -n / 2 * (log(2 * pi * s2) + 1) - sum(log(diag(factor))))
}
# The best linear predictor from all samples, with the mean known.
forecast <- function(x, phi, theta, d, mean, n_leads) {
  n <- length(x)
  gamma <- autocovariances(phi, theta, d, n + n_leads)
  lags <- sapply(1:n_leads, function(lead) gamma[n + lead - 1:n + 1])
  weights <- solve(toeplitz(gamma[1:n]), lags)
  list(mean = mean + as.numeric(t(weights) %*% (x - mean)), variance = gamma[1] - colSums(weights * lags))
}

rows <- list()
put <- function(series, model, quantity, values) if (length(values))
  rows[[length(rows) + 1]] <<- data.frame(series, model, quantity, idx = seq_along(values), value = sprintf("%.15g", values))

for (case in list(c("nile", 0, 0), c("nile", 1, 0), c("ec2_first_600", 0, 0), c("ec2_first_600", 1, 1), c("ec2_first_600", 4, 4),
                  c("ec2_first_2000", 4, 4), c("rds_first_600", 2, 2), c("elb_first_2000", 1, 1), c("elb_first_2000", 4, 4),
                  c("simulated_0d0", 0, 0), c("simulated_1d1", 1, 1), c("simulated_2d1", 2, 1), c("simulated_1d1", 4, 4))) {
  x <- series[[case[1]]]
  model <- sprintf("ARFIMA(%s,d,%s)", case[2], case[3])
  fit <- suppressWarnings(fracdiff(x - mean(x), nar = as.integer(case[2]), nma = as.integer(case[3])))
  put(case[1], model, "fracdiff_d", fit$d)
  put(case[1], model, "fracdiff_phi", fit$ar)
  put(case[1], model, "fracdiff_theta", -fit$ma)
  put(case[1], model, "fracdiff_log_likelihood", fit$log.likelihood)
  # At the very edge there is no stationary process to have a likelihood.
  at <- tryCatch(exact(x, as.numeric(fit$ar), -as.numeric(fit$ma), min(fit$d, 0.4999)), error = function(e) NULL)
  if (!is.null(at)) put(case[1], model, "fracdiff_exact_log_likelihood", at$log_likelihood)
  else message("no exact likelihood of ", paste(case, collapse = " "))
}
for (name in c("nile", "ec2_first_600", "simulated_0d0")) {
  best <- optimize(function(d) exact(series[[name]], NULL, NULL, d)$log_likelihood, c(-0.499, 0.499), maximum = TRUE, tol = 1e-9)
  put(name, "ARFIMA(0,d,0)", "exact_d", best$maximum)
  put(name, "ARFIMA(0,d,0)", "exact_log_likelihood", best$objective)
  put(name, "ARFIMA(0,d,0)", "exact_mean", exact(series[[name]], NULL, NULL, best$maximum)$mean)
}
at <- exact(series$nile, c(0.5, -0.2), 0.3, 0.2)
put("nile", "at(0.5,-0.2;0.2;0.3)", "exact_log_likelihood", at$log_likelihood)
put("nile", "at(0.5,-0.2;0.2;0.3)", "exact_mean", at$mean)
at <- exact(series$lh, c(0.99, -0.05), -0.6, -0.35)
put("lh", "at(0.99,-0.05;-0.35;-0.6)", "exact_log_likelihood", at$log_likelihood)
put("lh", "at(0.99,-0.05;-0.35;-0.6)", "exact_mean", at$mean)
for (case in list(list("simulated_antipersistent", -0.3), list("simulated_1d1", 0.2), list("simulated_1d1", 0.45))) {
  ahead <- forecast(series[[case[[1]]]], 0.5, 0.3, case[[2]], 0, 30)
  put(case[[1]], sprintf("at(0.5;%g;0.3)", case[[2]]), "forecast", ahead$mean)
  put(case[[1]], sprintf("at(0.5;%g;0.3)", case[[2]]), "forecast_variance", ahead$variance)
}
write.csv(do.call(rbind, rows), "reference.csv", row.names = FALSE, quote = 2)
