# princurve's principal_curve, told what to do through standard input: one line per fit. Called by princurve.py.
#
#   Rscript princurve.R N D rows.bin
#
# The file holds float64, column after column. "ready" is printed once it is read; then, for every line, one
# line: the number of iterations, and a file with the projected rows (N x D, column after column).

suppressPackageStartupMessages(library(princurve))
arguments <- commandArgs(trailingOnly = TRUE)
n <- as.integer(arguments[1]); d <- as.integer(arguments[2])
x <- matrix(readBin(arguments[3], "double", n * d), n, d)

input <- file("stdin", "r")
cat("ready\n")
while (length(line <- readLines(input, 1)) == 1) {
  found <- principal_curve(x, smoother = "smooth_spline")
  answer <- tempfile()
  writeBin(as.vector(found$s), answer)
  cat(found$num_iterations, answer, "\n")
}
