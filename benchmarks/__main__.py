"""``python -m benchmarks [mixture|kmeans|growth|passes|startup ...] [--quick]``: a full run also writes RESULTS.md.

``python -m benchmarks ordinary`` takes more options, which narrow it or send it elsewhere.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import climbs, growth, ladders, machine, passes, reads, sentences, startup, startup_child
from benchmarks.cases import CASES, MEANS, QUICK
from benchmarks.ordinary import section as ordinary
from benchmarks.ordinary.grid import Grid
from benchmarks.ordinary.turns import Pace
from benchmarks.race import race
from benchmarks.table import RACE_HEAD, duration, markdown, mean_line, race_rows

RESULTS = Path(__file__).with_name("RESULTS.md")
PARTS = (*CASES, "ordinary", "growth", "projections", "sentences", "passes", "reads", "startup", "first-use")
NOTES = """\
How it was measured: data and starts from a fixed seed, the same for all; every contender in a process of its own, all
cores for each; after a fit that does not count (libraries load, kernels compile) they take turns, round after round,
and the best time of each counts. Nothing else should run meanwhile; the load average says whether it did.

- `*` marks the fastest peer. Ratio: the peer's time over unveil's. Rounds: how many the peer ran; unveil runs all.
- Mixtures: EM from the same weights, means and covariances (full, or diagonal). The time of one iteration is the slope
  between a short fit (2 iterations) and a longer one (7, or 12 where they are fast), so what is done once per fit
  counts for nobody. Mean log-likelihoods after the longer one are computed by the same code for all. All have
  float64 and reg_covar=0, since pomegranate adds nothing to covariances; it is also run in float32, its default.
  mclust starts from the responsibilities of the same start and runs in R.
- Bernoulli mixtures: from the same weights and probabilities. StepMix takes no start, so ours is put in the place of
  its own; in pomegranate the check that every cell is 0 or 1 is switched off.
- Missing cells: unveil against itself on the complete rows, from the same start. Results are judged on the complete
  rows and agree loosely, since one fit knows less.
- Passes: E steps over all rows, those of leaps taken back and of line searches too, until the parameters reached are as
  good as the end of batch EM less what "within" says, per row, scored on all rows. Batch EM's are counted to the same
  point; its end is shown beside. "over n": given up after n passes.
- Reads: a search for a mixture over a Parquet file, every combination by a search of its own and all in one; what is
  read for starts and criteria counts.
- K-means: from the same centres with tol=0, until nothing changes or 300 iterations (it.) are done, fewer where the
  case says so. Blobs are as many round clouds as there are clusters, noise is uniform. Costs are computed anew in
  float64 for all. faiss has single precision only and no stopping rule: it runs for as many iterations as unveil took,
  on all rows (its conversion to float32 is not timed), and may end in another optimum nearby. A peer that is more than
  3 times slower than the fastest peer after a round sits out the others, so its best time is over fewer rounds.
- k-means++: all rows, 2 + log(K) candidates at each step for both. They draw differently, so the mean cost of the
  starts from 5 seeds is compared ("no worse": at most 2% above).
- K-medoids: FasterPAM from the same medoids on the same matrix. With one core, kmedoids tries the rows in their order;
  with all, in a random order, which may end in another optimum ("no worse": losses at most 1e-9, 1e-3 above).
- Kernel K-means: from the same random labels, each computing the kernel itself, up to 50 iterations. tslearn leaves
  out the squared norms of the clusters' means, so it minimises something else; both are judged by the cost.
- Growth: one pass of K-means, 8 columns, 50 clusters, the slope between a short fit and a long one at each size.
- PCA, all components: the variances compared are the ones reported and those along the directions found. A few
  components, of wide rows and of sparse ones: what counts is the variance that the plane misses ("no worse").
- LDA: fits alone, each solver with its defaults; judged by the log-loss of 20,000 of the rows.
- ICA: sources of five kinds in turn. All stop when the largest entry of the gradient, measured by the same code for
  all, is at most 1e-7: FastICA runs at the loosest power of ten as its tolerance that gets there, found beforehand.
  What counts is the Amari distance to the true mixing ("no worse": at most 1e-5 above); it is not finite where the
  gradient was not reached.
- Probabilistic PCA with holes: everybody stops by a rule of their own, with a tolerance of 1e-4 if there is one, so
  minus the log-likelihood counts ("no worse").
- Principal curve: the same smoothing spline and the stopping rule of R's princurve, whose time includes handing over
  the curve through a file.
- Growth of projections: whole fits with as many passes at every size.
- Hidden Markov models: from the same start, the slope between a short fit and a longer one as for mixtures. hmmlearn
  runs with both of its implementations and without its prior on covariances; dynamax (JAX, float64) with its step of EM
  compiled once and priors as flat as it takes them; pomegranate also learns where sequences end. Log-likelihoods are
  computed by the same code for all. Peers that are more than 5 times slower than the fastest of them sit out.
- Ordinary: whole fits with nothing set but K and the seed; both libraries use threads as they do by default. Times and
  ratios are geometric means over the seeds, values are means, "ahead by" is the worst seed's. Where defaults mean
  different models, the peer gets unveil's: hmmlearn full covariances (it stops after 10 iterations by itself), kmedoids
  Euclidean distances. PCA and factors have half as many components as columns, ICA as many. ARI is the adjusted Rand
  index with the groups that were planted. The mark of a mixture, up to 10,000 rows: within 0.01 nats per 1,000 rows of
  the best of ten fits of scikit-learn that unveil's guard finds sound, and sound itself; of all else: no worse than the
  peer. What is called on one row is called many times in a row. Methods are timed once for each shape.
- First use: after `import unveil, sklearn, numba`, nothing compiled before.
- Viterbi: at the parameters of the start; judged by the log-probability of the paths.
- Grammars: one pass of inside-outside from a random grammar, as a whole fit; the peer is a chart written in NumPy
  without compiling. Best trees: the first one that nltk's parsers hand out.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for, print it, and keep the results of a full run."""
    options = _parse(arguments)
    parts = options.parts or PARTS
    began, head = time.perf_counter(), [f"Date: {datetime.now(UTC):%Y-%m-%d}", *machine.describe()]
    sections = [OTHERS.get(part, _races)(part, options) for part in parts]
    head.append(f"Everything took {(time.perf_counter() - began) / 60:.1f} minutes")
    text = "\n".join(["# unveil and its peers", "", *(f"- {line}" for line in head), "", *sections, NOTES])
    print(text)
    if not options.quick and set(parts) == set(PARTS) and not _narrowed(options):
        RESULTS.write_text(text)
        say(f"written to {RESULTS.parent.name}/{RESULTS.name}")
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="small cases, to see that everything runs")
    more = parser.add_argument_group("ordinary", "what is left of it; --only goes for first-use, too")
    more.add_argument("--only", nargs="+", default=[], metavar="ESTIMATOR", help=", ".join(ordinary.NAMES))
    more.add_argument("--kinds", nargs="+", metavar="KIND", help=", ".join(ordinary.KINDS))
    more.add_argument("--most-rows", type=int, default=Grid.most_rows, metavar="N", help="leave out larger tables")
    more.add_argument("--seeds", type=int, default=Grid.seeds, metavar="N", help=f"{Grid.seeds} by default")
    more.add_argument("--held-out", action="store_true", help="other shapes, seeds and kinds: to look once")
    more.add_argument("--cells", type=Path, metavar="FILE", help="write every cell to a CSV file")
    options = parser.parse_args(arguments)
    _check(parser, "PART", options.parts, PARTS)
    _check(parser, "--only", options.only, {*ordinary.NAMES, *startup_child.USES})
    _check(parser, "--kinds", options.kinds or (), ordinary.KINDS)
    return options


def _check(parser: argparse.ArgumentParser, what: str, given: Collection[str], known: Collection[str]) -> None:
    """Refuse words that mean nothing."""
    for word in given:
        if word not in known:
            parser.error(f"{what} must be one of {', '.join(known)}, got {word!r}")


def _narrowed(options: argparse.Namespace) -> bool:
    """Whether some of the part of ordinary fits was left out, or others were run instead."""
    return bool(options.only or _grid(options) != Grid())


def _grid(options: argparse.Namespace) -> Grid:
    kinds = None if options.kinds is None else tuple(options.kinds)
    grid = Grid(options.seeds, options.most_rows, kinds, options.held_out)
    return grid.quick() if options.quick else grid


def _races(part: str, options: argparse.Namespace) -> str:
    """The table of a part, and the mean over its cases where one is asked for."""
    cases = (QUICK if options.quick else CASES)[part]
    scores = [race(case, say) for case in cases]
    rows = [row for case, mine in zip(cases, scores, strict=True) for row in race_rows(case, mine)]
    mean = f"\n{mean_line(scores, MEANS[part])}\n" if part in MEANS else ""
    return f"## {part}\n\n{markdown(RACE_HEAD, rows)}\n{mean}"


def _growth(part: str, options: argparse.Namespace) -> str:
    """The table of what ten times the rows cost."""
    rows = (growth.QUICK if options.quick else growth.FULL).rows(say)
    return f"## {part}\n\n{markdown(growth.HEAD, rows)}\n"


def _projections(part: str, options: argparse.Namespace) -> str:
    """The same for whole fits of projections."""
    rows = (ladders.QUICK if options.quick else ladders.FULL).rows(say)
    return f"## growth of {part}\n\n{markdown(ladders.HEAD, rows)}\n"


def _sentences(part: str, options: argparse.Namespace) -> str:
    """The same for sentences of a grammar."""
    rows = (sentences.QUICK if options.quick else sentences.FULL).rows(say)
    return f"## growth of {part}\n\n{markdown(ladders.HEAD, rows)}\n"


def _passes(part: str, options: argparse.Namespace) -> str:
    """The table of schedules and their passes."""
    rows: list[list[str]] = []
    for climb in climbs.QUICK if options.quick else climbs.CLIMBS:
        say(f"passes: {climb.name}")
        rows += climb.rows()
    return f"## {part}\n\n{markdown(passes.HEAD, rows)}\n"


def _reads(part: str, options: argparse.Namespace) -> str:
    """The table of how often a file is read."""
    rows = [row for search in (reads.QUICK if options.quick else reads.FULL) for row in search.rows(say)]
    return f"## {part}\n\n{markdown(reads.HEAD, rows)}\n"


def _startup(part: str, options: argparse.Namespace) -> str:
    """The table of what people wait for."""
    rows = []
    for wait in startup.WAITS:
        say(f"start-up: {wait.name}")
        best = wait.best()
        rows.append([wait.name, duration(best), duration(wait.asked), "yes" if best < wait.asked else "no"])
    return f"## {part}\n\n{markdown(startup.HEAD, rows)}\n"


def _ordinary(part: str, options: argparse.Namespace) -> str:
    """Tables of whole fits with nothing set."""
    pace = Pace(rounds=2) if options.quick else Pace()
    return ordinary.section(options.only, _grid(options), pace, options.cells, say)


def _first_use(part: str, options: argparse.Namespace) -> str:
    """The table of first fits of all estimators."""
    rows = startup.first_use_rows(options.only, options.quick, say)
    return f"## first use\n\n{markdown(startup.FIRST_HEAD, rows)}\n"


OTHERS: Mapping[str, Callable[[str, argparse.Namespace], str]] = {
    "ordinary": _ordinary,
    "growth": _growth,
    "projections": _projections,
    "sentences": _sentences,
    "passes": _passes,
    "reads": _reads,
    "startup": _startup,
    "first-use": _first_use,
}  # no races


def say(line: str) -> None:
    """Progress, apart from the results."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
