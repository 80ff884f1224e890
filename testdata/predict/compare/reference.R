# Prints reference.csv: Diebold-Mariano tests with the correction of Harvey, Leybourne and Newbold.
# Made with R 4.2.2 (stats); the formula is that of forecast::dm.test, written out, with its two estimators of the variance.
# Run in this folder: Rscript reference.R > reference.csv
options(digits = 15)
read <- function(name) read.csv(sprintf("../ar/%s.csv", name))[[1]]

test <- function(first, second, h, power, bartlett) {
  d <- abs(first)^power - abs(second)^power
  n <- length(d)
  cov <- acf(d, lag.max = h - 1, type = "covariance", plot = FALSE, demean = TRUE)$acf[, 1, 1]
  weight <- if (bartlett) 1 - seq_len(h - 1) / h else rep(1, h - 1)
  variance <- (cov[1] + 2 * sum(weight * cov[-1])) / n
  if (variance <= 0) return(NULL)
  k <- sqrt((n + 1 - 2 * h + h / n * (h - 1)) / n)
  statistic <- mean(d) / sqrt(variance) * k
  c(n, mean(d), statistic, 2 * pt(-abs(statistic), df = n - 1))
}

# Errors h steps ahead of LAST and of the mean of the last four: forecasts that anyone can remake.
errors <- function(z, h, width) {
  at <- 4:(length(z) - h)
  z[at + h] - sapply(at, function(t) mean(z[(t - width + 1):t]))
}

cat("series,lead,loss,variance,n,difference,statistic,p_value\n")
for (name in c("nile", "lake_huron", "sunspots", "dow_jones")) for (h in c(1, 2, 5, 10)) for (power in c(2, 1)) {
  z <- read(name)
  first <- errors(z, h, 1); second <- errors(z, h, 4)
  plain <- test(first, second, h, power, FALSE)
  used <- if (is.null(plain)) "bartlett" else "rectangular"
  figures <- if (is.null(plain)) test(first, second, h, power, TRUE) else plain
  cat(name, h, c("absolute", "squared")[power], used, format(figures[1]), sapply(figures[2:4], format, digits = 15), sep = ",", fill = 1000)
}
# Losses that alternate: their plain variance at lead 2 is negative.
first <- rep(c(1, 3), 10) + (1:20) / 100; second <- rep(2, 20)
stopifnot(is.null(test(first, second, 2, 2, FALSE)))
figures <- test(first, second, 2, 2, TRUE)
cat("alternating", 2, "squared", "bartlett", format(figures[1]), sapply(figures[2:4], format, digits = 15), sep = ",", fill = 1000)
