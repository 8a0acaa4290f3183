"""All criteria together: votes, and a verdict that says where they agree and where not.

Every criterion with a voice has one vote for its number of clusters. Criteria that cannot be for one cluster but see
no clusters at all (no clear elbow, a weak silhouette, nothing that comes back) give half a vote to one. The most votes
win, and of equals the fewest clusters. The answer is clear if more than half of the votes are for it, and two
criteria at least.
"""

from __future__ import annotations

from collections.abc import Sequence

from unveil.judgement.criteria.opinions import SIZE, Choice, Line, Opinion, clusters, known

QUORUM = 1.5  # votes for a clear answer: two criteria, or one that is for one cluster with another that sees none


def weigh(opinions: Sequence[Opinion], line: Line) -> Choice:
    """The choice of all criteria."""
    votes = _votes(opinions, [int(row[SIZE]) for row in line])
    size = max(votes, key=lambda each: (votes[each], -each))
    cast = sum(votes.values())
    direct = any(opinion.voice and opinion.size == size for opinion in opinions)
    clear = direct and votes[size] >= QUORUM and votes[size] > cast / 2.0
    return Choice(size, clear, votes, tuple(opinions), _say(opinions, size, clear, direct))


def follow(rule: str, opinions: Sequence[Opinion], line: Line, fallback: int) -> Choice:
    """The choice of one criterion; `fallback` has its best value, where it is not sure."""
    votes = _votes(opinions, [int(row[SIZE]) for row in line])
    own = next(opinion for opinion in opinions if opinion.name == rule)
    size = fallback if own.size is None else own.size
    words = f"{_head(size)} Chosen by {own.words}." if own.size is not None else _unsure(own, size)
    return Choice(size, own.size is not None, votes, tuple(opinions), f"{words} {_others(opinions, own, size)}".strip())


def _votes(opinions: Sequence[Opinion], sizes: Sequence[int]) -> dict[int, float]:
    votes = dict.fromkeys(sizes, 0.0)
    for opinion in opinions:
        if opinion.voice and opinion.size is not None:
            votes[opinion.size] += 1.0
        elif opinion.voice and not opinion.structure and 1 in votes:
            votes[1] += 0.5
    return votes


def _say(opinions: Sequence[Opinion], size: int, clear: bool, direct: bool) -> str:
    """The verdict."""
    heard = [opinion for opinion in opinions if opinion.voice]
    pro = [opinion.words for opinion in heard if opinion.size == size]
    parts = [_head(size) if clear else _torn(opinions, size, direct)]
    parts += [f"For {'it' if clear else clusters(size)}: {'; '.join(pro)}."] if pro else []
    against = sorted({opinion.size for opinion in heard if opinion.size not in (None, size)})
    parts += [f"For {clusters(other)}: {'; '.join(_of(heard, other))}." for other in against if other is not None]
    parts += [f"Undecided: {'; '.join(_of(heard, None))}."] if _of(heard, None) else []
    return " ".join([*parts, *_silent(opinions)])


def _torn(opinions: Sequence[Opinion], size: int, direct: bool) -> str:
    """What is said where there is no clear answer."""
    if not direct:
        return f"No clear answer: no criterion is for any number of clusters. Kept: {clusters(size)}."
    named = [opinion.size for opinion in opinions if opinion.voice and opinion.size is not None]
    equal = sorted(other for other in set(named) if named.count(other) == named.count(size))
    if len(equal) < 2:
        return f"No clear answer; most is to be said for {clusters(size)}."
    numbers = f"{', '.join(map(str, equal[:-1]))} and {equal[-1]}"
    return f"No clear answer: as much is to be said for {numbers}. Kept: {clusters(size)}."


def _of(opinions: Sequence[Opinion], size: int | None) -> list[str]:
    return [opinion.words for opinion in opinions if opinion.size == size]


def _head(size: int) -> str:
    return "No clusters: one group says as much as several." if size == 1 else f"{clusters(size).capitalize()}."


def _unsure(own: Opinion, size: int) -> str:
    return f"No clear answer: {own.words}. Kept: {clusters(size)}."


def _others(opinions: Sequence[Opinion], own: Opinion, size: int) -> str:
    """Who would have chosen differently."""
    heard = [opinion for opinion in opinions if opinion.voice and opinion is not own and opinion.size is not None]
    agree = [opinion.title for opinion in heard if opinion.size == size]
    differ = [f"{opinion.title} is for {opinion.size}" for opinion in heard if opinion.size != size]
    return " ".join(
        ([f"Agreed by: {', '.join(agree)}."] if agree else [])
        + ([f"Otherwise: {', '.join(differ)}."] if differ else [])
    )


def _silent(opinions: Sequence[Opinion]) -> list[str]:
    """What criteria without a vote point to."""
    told = [f"{opinion.title} to {opinion.size}" for opinion in opinions if not opinion.voice and opinion.size]
    return [f"Without a vote, as they change with the units of the columns: {', '.join(told)}."] if told else []


def best_known(line: Line, name: str, sign: int) -> int:
    """The size with the best value of a column; the smallest where it has none."""
    values = known(line, name)
    return max(values, key=lambda pair: sign * pair[1])[0] if values else int(line[0][SIZE])
