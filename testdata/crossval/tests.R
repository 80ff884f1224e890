# What R says of the rows that the tests in crates/crossval/src/statistics use. R 4.2.2, package stats.
options(digits = 15)
differences <- c(0.952, -0.147, 1.022, 0.43, 0.62, 0.59, 0.49, -0.08, 0.01)
cat("depression", wilcox.test(differences)$p.value, "\n")
tied <- c(1, 1, -1, 2, 3, 0, 3, -0.5, 4, 2.5)
cat("tied", suppressWarnings(wilcox.test(tied))$p.value, "\n")
many <- (1:60) * ifelse((1:60) %% 3 == 0, -1, 1)
cat("many", wilcox.test(many)$p.value, "\n")
rounding <- matrix(c(5.40, 5.50, 5.55, 5.85, 5.70, 5.75, 5.20, 5.60, 5.50, 5.55, 5.50, 5.40, 5.90, 5.85, 5.70, 5.45, 5.55, 5.60,
                     1, 1, 2), ncol = 3, byrow = TRUE)
found <- friedman.test(rounding)
cat("friedman", found$statistic, found$p.value, "\n")
for (k in c(2, 3, 4, 10, 20, 100)) cat("qtukey", k, qtukey(0.95, k, Inf), "\n")
cat("holm", p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.9), "holm"), "\n")
