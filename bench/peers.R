# What fits take in R, and what they find, on the first samples of a trace. Writes a line of JSON for each.
#
# Usage: Rscript bench/peers.R TRACE.csv
library(fracdiff)

trace <- read.csv(commandArgs(trailingOnly = TRUE)[1])$value
RUN_SECONDS_MIN <- 0.1
N_RUNS <- 5

best_seconds <- function(work) {
    seconds_of <- function(n_calls) system.time(for (i in seq_len(n_calls)) work())[["elapsed"]]
    n_calls <- 1
    while ((seconds <- seconds_of(n_calls)) < RUN_SECONDS_MIN) n_calls <- 2 * n_calls
    min(seconds, replicate(N_RUNS - 1, seconds_of(n_calls))) / n_calls
}

numbers <- function(values) paste0("[", paste(sprintf("%.17g", values), collapse = ","), "]")

# `estimates` takes a fit apart into phi, theta, d, mean and whether it converged.
report <- function(work, who, fit, estimates) {
    fit_quietly <- function() suppressWarnings(fit())
    found <- estimates(fit_quietly())
    cat(sprintf(
        '{"work":"%s","who":"%s","time_seconds":%.9g,"phi":%s,"theta":%s,"d":%.17g,"mean":%.17g,"converged":%s}\n',
        work, who, best_seconds(fit_quietly), numbers(found$phi), numbers(found$theta), found$d, found$mean,
        if (found$converged) "true" else "false"
    ))
}

yule_walker <- function(work, order, n) {
    x <- trace[seq_len(n)]
    report(work, sprintf("R `ar.yw(%d)`", order), function() ar.yw(x, aic = FALSE, order.max = order), function(fit) {
        list(phi = fit$ar, theta = numeric(0), d = 0, mean = fit$x.mean, converged = TRUE)
    })
}

arma <- function(work, n, maxit) {
    x <- trace[seq_len(n)]
    who <- sprintf("R `arima` CSS, at most %d steps", maxit)
    fit <- function() arima(x, c(8, 0, 8), method = "CSS", optim.control = list(maxit = maxit))
    report(work, who, fit, function(fit) {
        list(
            phi = fit$coef[1:8], theta = fit$coef[9:16], d = 0, mean = fit$coef[["intercept"]], converged = fit$code == 0
        )
    })
}

arfima <- function(work, n) {
    x <- trace[seq_len(n)]
    # It does not take the mean off by itself, and its moving averages have the opposite sign.
    report(work, "R `fracdiff`", function() fracdiff(x - mean(x), nar = 4, nma = 4), function(fit) {
        list(phi = fit$ar, theta = -fit$ma, d = fit$d, mean = mean(x), converged = fit$msg[["fracdf"]] == "ok")
    })
}

yule_walker("AR(16) on 600", 16, 600)
yule_walker("AR(512) on 2,000", 512, 2000)
arma("ARMA(8,8) on 2,000", 2000, 100)
arma("ARMA(8,8) on 2,000", 2000, 1000)
arfima("ARFIMA(4,d,4) on 2,000", 2000)
