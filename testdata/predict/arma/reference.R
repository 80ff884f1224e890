# Writes conditional least squares fits that crates/predict/tests/it/arma.rs is held against: reference.csv with
# the innovation variance that R's optimizer reached, its coefficients and its forecasts.
# Made with R 4.2.2; run in this folder: Rscript reference.R
read <- function(path) { t <- read.csv(path); t[[ncol(t)]] }
series <- list(lh = read("../ar/lh.csv"), lake_huron = read("../ar/lake_huron.csv"), nile = read("../ar/nile.csv"),
               sunspots = read("../ar/sunspots.csv"), ec2_first_600 = read("../../nab/ec2_cpu_utilization_5f5533.csv")[1:600])
rows <- list()
for (case in list(c("lh", 3, 0, 0), c("lh", 1, 0, 1), c("lake_huron", 1, 0, 1), c("lake_huron", 2, 0, 0), c("nile", 0, 1, 1),
                  c("nile", 1, 1, 1), c("sunspots", 4, 0, 2), c("ec2_first_600", 2, 0, 2), c("ec2_first_600", 4, 0, 4),
                  c("ec2_first_600", 8, 0, 8), c("ec2_first_600", 4, 1, 4), c("ec2_first_600", 0, 0, 8))) {
  order <- as.integer(case[2:4])
  fit <- tryCatch(arima(series[[case[1]]], order = order, method = "CSS", optim.control = list(maxit = 2000, reltol = 1e-15)),
                  error = function(e) NULL)
  if (is.null(fit)) { message("R cannot fit ", paste(case, collapse = " ")); next }
  put <- function(quantity, values) if (length(values))
    rows[[length(rows) + 1]] <<- data.frame(series = case[1], model = sprintf("ARIMA(%d,%d,%d)", order[1], order[2], order[3]),
                                            quantity, idx = seq_along(values), value = sprintf("%.15g", values))
  coef <- coef(fit)
  put("phi", coef[grep("^ar", names(coef))])
  put("theta", coef[grep("^ma", names(coef))])
  put("mean", coef[names(coef) == "intercept"])
  put("innovation_variance", fit$sigma2)
  put("forecast", as.numeric(predict(fit, n.ahead = 10)$pred))
  put("standard_error", as.numeric(predict(fit, n.ahead = 10)$se))
}
write.csv(do.call(rbind, rows), "reference.csv", row.names = FALSE, quote = 2)
