"""The bits of every answer: what a change of code that must change no answer is held against.

Every estimator is fitted to small tables by every schedule, expectation, engine and route that it takes, and all that
can be done with a fitted model is done. Each result is one line: its name, a tab, and sixteen digits of a hash over
all its numbers, to the last bit. Only public names are used, so that the same tool runs on the code before and after:

    python -m tools.bits -o before.txt                 from the root of the repository
    python -m tools.bits --against before.txt          after the change; ends with 1 if a line differs
    python -m tools.bits --only KMeans/ --detail       some cases, and a line for every attribute
    PYTHONPATH=../other/src python -m tools.bits ...   on another copy of the code

What an estimator refuses by a ValueError or TypeError is recorded as that ("refused:ValueError"), without its words;
any other exception is recorded as an error. Hashes are those of one machine: products of matrices differ in the last
bit between processors and versions of BLAS, so both runs have to be made on the same one.

`digest` makes a hash of a value; `use` is what is done with a fitted model; `data` has the tables; the other modules
list cases.
"""
