# Writes the series and the numbers that crates/predict/tests/it/reference.rs checks AR against.
# Made with R 4.2.2; run in this folder: Rscript reference.R
# The series ship with R (package datasets).

series <- list(lh = lh, lake_huron = LakeHuron, nile = Nile, sunspot_year = sunspot.year, one_to_eleven = 1:11)
for (name in names(series)) writeLines(c(name, format(as.numeric(series[[name]]), digits = 17, trim = TRUE)), paste0(name, ".csv"))
trace <- read.csv("../../nab/ec2_cpu_utilization_5f5533.csv")$value
series$ec2_first_600 <- trace[1:600]

rows <- list()
put <- function(series, model, quantity, values)
  rows[[length(rows) + 1]] <<- data.frame(series, model, quantity, idx = seq_along(values), value = sprintf("%.17g", values))

for (case in list(c("lh", 3), c("lake_huron", 2), c("lake_huron", 5), c("nile", 2), c("nile", 16), c("sunspot_year", 16),
                  c("ec2_first_600", 16), c("one_to_eleven", 2))) {
  x <- as.numeric(series[[case[1]]]); p <- as.integer(case[2]); n <- length(x)
  fit <- ar.yw(x, aic = FALSE, order.max = p)
  model <- sprintf("AR(%d)", p)
  put(case[1], model, "coefficient", as.numeric(fit$ar))
  put(case[1], model, "mean", fit$x.mean)
  # ar.yw scales the innovation variance by n / (n - p - 1); ours is the one of the equations themselves.
  put(case[1], model, "innovation_variance", as.numeric(fit$var.pred) * (n - p - 1) / n)
  fc <- predict(fit, n.ahead = 30)
  put(case[1], model, "forecast", as.numeric(fc$pred))
  put(case[1], model, "standard_error", as.numeric(fc$se) * sqrt((n - p - 1) / n))
}
for (case in list(c("lake_huron", 4), c("lake_huron", 10), c("ec2_first_600", 16), c("one_to_eleven", 2))) {
  x <- as.numeric(series[[case[1]]]); p <- as.integer(case[2])
  fit <- ar.burg(x, aic = FALSE, order.max = p)
  model <- sprintf("AR(%d,method=burg)", p)
  put(case[1], model, "coefficient", as.numeric(fit$ar))
  put(case[1], model, "innovation_variance", as.numeric(fit$var.pred))
  put(case[1], model, "forecast", as.numeric(predict(fit, n.ahead = 30)$pred))
}
write.csv(do.call(rbind, rows), "reference.csv", row.names = FALSE, quote = c(2))
