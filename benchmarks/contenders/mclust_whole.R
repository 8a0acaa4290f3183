# Mclust with nothing set but the number of components, told what to do through standard input: one line per fit.
# Called by mclust.py.
#
#   Rscript mclust_whole.R N D K rows.bin
#
# The file holds float64, column after column. "ready" is printed once it is read; then, for every line, one line of
# numbers: weights (K), means (D x K, column after column), covariances (D x D x K) of the model that BIC picked.

suppressPackageStartupMessages(library(mclust))
arguments <- commandArgs(trailingOnly = TRUE)
n <- as.integer(arguments[1]); d <- as.integer(arguments[2]); k <- as.integer(arguments[3])
x <- matrix(readBin(arguments[4], "double", n * d), n, d)

input <- file("stdin", "r")
cat("ready\n")
while (length(line <- readLines(input, 1)) == 1) {
  found <- suppressWarnings(Mclust(x, G = k, verbose = FALSE))$parameters
  numbers <- c(found$pro, found$mean, found$variance$sigma)
  cat(paste(sprintf("%.17g", numbers), collapse = " "), "\n", sep = "")
}
