# mclust's EM, told what to do through standard input: one line "steps" per fit. Called by mclust.py.
#
#   Rscript mclust.R MODEL N D K rows.bin responsibilities.bin
#
# The files hold float64, column after column. "ready" is printed once they are read; then, for every line, one line of
# numbers: weights (K), means (D x K, column after column), covariances (D x D x K).

suppressPackageStartupMessages(library(mclust))
arguments <- commandArgs(trailingOnly = TRUE)
model <- arguments[1]
n <- as.integer(arguments[2]); d <- as.integer(arguments[3]); k <- as.integer(arguments[4])
x <- matrix(readBin(arguments[5], "double", n * d), n, d)
z <- matrix(readBin(arguments[6], "double", n * k), n, k)

input <- file("stdin", "r")
cat("ready\n")
while (length(line <- readLines(input, 1)) == 1) {
  limit <- rep(as.integer(line), 2)
  control <- emControl(eps = 0, tol = c(0, 0), itmax = limit)
  found <- suppressWarnings(me(data = x, modelName = model, z = z, control = control))$parameters
  numbers <- c(found$pro, found$mean, found$variance$sigma)
  cat(paste(sprintf("%.17g", numbers), collapse = " "), "\n", sep = "")
}
