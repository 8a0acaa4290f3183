# Numbers of components by mclust's BIC and ICL, with nothing set but their range; one table per line of standard input.
# Called by mclust.py.
#
#   N D MOST rows.bin
#
# The file holds float64, column after column. "ready" is printed first; then, for every line, "BIC's number, ICL's
# number" (NA where no model could be fitted).
#
# ICL is BIC less twice the entropy of the responsibilities, so it is never larger: models are looked at in falling
# order of BIC until the next BIC is below the best ICL. The answer is that of mclustICL, in a part of its time.

suppressPackageStartupMessages(library(mclust))

best_by_icl <- function(bic, x) {
  order <- order(bic, decreasing = TRUE, na.last = NA)
  best <- -Inf; number <- NA
  for (place in order) {
    if (bic[place] <= best) break
    row <- (place - 1) %% nrow(bic) + 1; column <- (place - 1) %/% nrow(bic) + 1
    model <- summary(bic, x, G = as.integer(rownames(bic)[row]), modelNames = colnames(bic)[column])
    value <- mclust:::icl.Mclust(model)
    if (is.finite(value) && value > best) { best <- value; number <- as.integer(rownames(bic)[row]) }
  }
  number
}

answer <- function(n, d, most, file) {
  x <- matrix(readBin(file, "double", n * d), n, d)
  bic <- suppressWarnings(mclustBIC(x, G = 1:most, verbose = FALSE))
  if (all(is.na(bic))) return(c(NA, NA))
  top <- which(bic == max(bic, na.rm = TRUE), arr.ind = TRUE)[1, 1]
  c(as.integer(rownames(bic)[top]), suppressWarnings(best_by_icl(bic, x)))
}

input <- file("stdin", "r")
cat("ready\n")
while (length(line <- readLines(input, 1)) == 1) {
  words <- strsplit(line, " ")[[1]]
  sizes <- as.integer(words[1:3])
  found <- tryCatch(answer(sizes[1], sizes[2], sizes[3], words[4]), error = function(trouble) c(NA, NA))
  cat(found, "\n")
}
