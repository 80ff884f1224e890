# Writes `presidents`, R's quarterly approval ratings of US presidents with six missing values, in the ways in which R writes a missing
# value into a table; and reference.csv, what R's exact likelihood makes of it.
# The series is of the package `datasets`, which is part of R; its source is the Gallup Organisation (McNeil, Interactive Data Analysis, 1977).
# Made with R 4.2.2; run in this folder: Rscript write.R
ratings <- data.frame(rating = as.numeric(presidents))
write.csv(ratings, "r_row_names.csv")
write.csv(ratings, "r_empty.csv", row.names = FALSE, na = "")
write.csv(ratings, "r_nan.csv", row.names = FALSE, na = "NaN", quote = FALSE)
write.table(ratings, "r_bare.csv", row.names = FALSE, col.names = FALSE, na = "")
fit <- arima(presidents, order = c(3, 0, 0), method = "ML", optim.control = list(reltol = 1e-14))
write.csv(data.frame(model = "AR(3)", log_likelihood = sprintf("%.10g", fit$loglik)), "reference.csv", row.names = FALSE, quote = FALSE)
