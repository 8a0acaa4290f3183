# Reference numbers from R's mclust (6.0.0), for tests/test_mclust.py.
#
#   Rscript mclust.R climb NAME=file.csv ... > lines     all fourteen models, K = 1..5
#   Rscript mclust.R best NAME=file.csv ... > lines      the best BIC over all models and K = 1..9
#
# NAME=file.csv:column takes one column of the table only. Every line printed is one JSON record; mclust.json is the
# lines of "climb" for faithful and iris and those of "best" for all tables, as one list.
#
# climb: mclust runs with its defaults (hierarchical start) and classifies the rows; from that classification,
#        M step first, EM goes on until the log-likelihood stands still. "bic" and "log_likelihood" are null where
#        mclust gives NA: a singular covariance, or a class without rows. Where its own run fails ("default_bic" is
#        null), the classification is that of the hierarchical start.
# best:  the winner of mclustBIC with its defaults, and where it leads when it is run on until it stands still.
#
# BIC has mclust's sign: 2 log-likelihood - parameters log n.

suppressPackageStartupMessages(library(mclust))
models <- mclust.options("emModelNames")
patient <- emControl(eps = 0, tol = c(1e-12, 1e-12), itmax = c(100000, 100000))

# -- JSON ------------------------------------------------------------------------------------------------------------

number <- function(x) if (length(x) == 1 && is.finite(x)) format(unname(x), digits = 15) else "null"
word <- function(x) paste0('"', x, '"')
record <- function(...) {
  fields <- c(...)
  cat("{", paste0('"', names(fields), '": ', fields, collapse = ", "), "}\n", sep = "")
}

# -- mclust ----------------------------------------------------------------------------------------------------------

# EM from a classification; NULL where it fails
climb_from <- function(x, model, k, classification) {
  start <- unmap(classification, groups = seq_len(k))
  values <- if (ncol(x) == 1) x[, 1] else x
  run <- if (k == 1) mvn(model, values) else me(data = values, modelName = model, z = start, control = patient)
  if (is.finite(run$loglik)) run else NULL
}

climb <- function(name, x) {
  for (k in 1:5) for (model in models) {
    plain <- suppressWarnings(Mclust(x, G = k, modelNames = model, verbose = FALSE))
    classes <- if (is.null(plain)) hclass(hc(x), k) else plain$classification
    end <- suppressWarnings(climb_from(x, model, k, classes))
    parameters <- nMclustParams(model, ncol(x), k)
    record(
      kind = word("climb"), data = word(name), model = word(model), k = k, parameters = parameters,
      default_bic = number(plain$bic), log_likelihood = number(end$loglik),
      bic = number(2 * end$loglik - parameters * log(nrow(x))),
      passes = if (is.null(end) || k == 1) "null" else attr(end, "info")[[1]],
      classes = word(paste(classes, collapse = ""))
    )
  }
}

best <- function(name, x) {
  plain <- suppressWarnings(Mclust(x, verbose = FALSE))
  end <- suppressWarnings(climb_from(x, plain$modelName, plain$G, plain$classification))
  columns <- paste0('["', paste(colnames(x), collapse = '", "'), '"]')
  record(
    kind = word("best"), data = word(name), columns = columns, model = word(plain$modelName), k = plain$G,
    parameters = plain$df, default_bic = number(plain$bic),
    bic = number(2 * end$loglik - plain$df * log(nrow(x))),
    classes = word(paste(plain$classification, collapse = ""))
  )
}

# -- the command line ------------------------------------------------------------------------------------------------

table_of <- function(argument) {
  parts <- strsplit(argument, "[=:]")[[1]]
  x <- as.matrix(read.csv(parts[2], check.names = FALSE))
  list(name = parts[1], x = if (length(parts) > 2) x[, parts[3], drop = FALSE] else x)
}

arguments <- commandArgs(trailingOnly = TRUE)
task <- list(climb = climb, best = best)[[arguments[1]]]
for (argument in arguments[-1]) do.call(task, unname(table_of(argument)))
