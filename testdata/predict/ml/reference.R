# Writes exact Gaussian likelihood fits that crates/predict is held against: reference.csv with the estimates that R's optimizer
# reached, their standard errors, the log-likelihood there, and forecasts from there. Beside it the series that R brings along:
# lynx.csv (its logarithm to base 10) and www_usage.csv.
# The log-likelihood of an ARIMA is that of the series differenced, which is what R's own approaches as its prior for the first
# level widens. lh_gaps is lh without the samples in `gaps`.
# Made with R 4.2.2; run in this folder: Rscript reference.R
write.csv(data.frame(value = format(as.numeric(log10(lynx)), digits = 15)), "lynx.csv", row.names = FALSE, quote = FALSE)
write.csv(data.frame(value = as.numeric(WWWusage)), "www_usage.csv", row.names = FALSE, quote = FALSE)
read <- function(path) { t <- read.csv(path); t[[ncol(t)]] }
gaps <- c(5, 6, 20, 33, 34, 35, 36)
series <- list(lh = read("../ar/lh.csv"), lake_huron = read("../ar/lake_huron.csv"), nile = read("../ar/nile.csv"),
               sunspot_year = read("../ar/sunspot_year.csv"), lynx = read("lynx.csv"), www_usage = read("www_usage.csv"),
               ec2_first_600 = read("../../nab/ec2_cpu_utilization_5f5533.csv")[1:600])
series$lh_gaps <- replace(series$lh, gaps, NA)
rows <- list()
for (case in list(c("lh", 1, 0, 0), c("lh", 3, 0, 0), c("lh", 0, 0, 1), c("lh", 1, 0, 1), c("lake_huron", 2, 0, 0), c("lake_huron", 1, 0, 1),
                  c("nile", 0, 1, 1), c("nile", 1, 1, 1), c("sunspot_year", 2, 0, 0), c("sunspot_year", 4, 0, 2), c("lynx", 2, 0, 0),
                  c("lynx", 11, 0, 0), c("lynx", 2, 0, 2), c("www_usage", 3, 1, 0), c("www_usage", 1, 1, 1), c("lh_gaps", 3, 0, 0),
                  c("lh_gaps", 1, 0, 1), c("lh_gaps", 0, 0, 1), c("ec2_first_600", 2, 0, 0), c("ec2_first_600", 4, 0, 0),
                  c("ec2_first_600", 1, 0, 1), c("ec2_first_600", 2, 0, 2), c("ec2_first_600", 4, 1, 4), c("ec2_first_600", 8, 0, 8),
                  c("ec2_first_600", 0, 1, 1))) {
  order <- as.integer(case[2:4])
  samples <- series[[case[1]]]
  control <- list(maxit = 5000, reltol = 1e-14)
  best <- NULL
  for (method in c("CSS-ML", "ML")) {
    fit <- tryCatch(arima(samples, order = order, method = method, optim.control = control), error = function(e) NULL)
    if (!is.null(fit) && (is.null(best) || fit$loglik > best$loglik)) best <- fit
  }
  if (is.null(best)) { message("R cannot fit ", paste(case, collapse = " ")); next }
  likelihood <- best$loglik
  if (order[2] > 0) {
    # At the same coefficients, with nothing left to search.
    differenced <- arima(diff(samples, differences = order[2]), order = c(order[1], 0, order[3]), include.mean = FALSE, fixed = coef(best),
                         transform.pars = FALSE, method = "ML")
    likelihood <- differenced$loglik
  }
  put <- function(quantity, values) if (length(values))
    rows[[length(rows) + 1]] <<- data.frame(series = case[1], model = sprintf("ARIMA(%d,%d,%d)", order[1], order[2], order[3]),
                                            quantity, idx = seq_along(values), value = sprintf("%.15g", values))
  coef <- coef(best)
  put("phi", coef[grep("^ar", names(coef))])
  put("theta", coef[grep("^ma", names(coef))])
  put("mean", coef[names(coef) == "intercept"])
  put("standard_error_of_parameter", suppressWarnings(sqrt(diag(vcov(best)))))
  put("innovation_variance", best$sigma2)
  put("log_likelihood", likelihood)
  put("forecast", as.numeric(predict(best, n.ahead = 10)$pred))
  put("standard_error", as.numeric(predict(best, n.ahead = 10)$se))
}
write.csv(do.call(rbind, rows), "reference.csv", row.names = FALSE, quote = 2)
