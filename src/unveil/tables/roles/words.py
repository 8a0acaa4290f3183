"""What a column of words is: yes and no, a ladder, a category, names, free text.

The limits: a word that occurs once or twice teaches a model nothing, so a column of more than 20 words of which half
occur once names its rows. Up to 50 words are levels of a category; of more, the most frequent are, and the others
are joined.
"""

from __future__ import annotations

import re

from unveil.tables.roles.ladders import ladder_of
from unveil.tables.roles.names import says_key, tokens
from unveil.tables.roles.role import ColumnRole, as_role
from unveil.tables.survey import ColumnSurvey

PAIRS = "no/yes n/y false/true f/t off/on absent/present negative/positive 0/1 nein/ja non/oui no/si"
YES_NO = tuple(frozenset(pair.split("/")) for pair in PAIRS.split())
YES = frozenset(("yes", "y", "true", "t", "on", "present", "positive", "1", "ja", "oui", "si"))
LEVELS = 50  # of a category
SMALL = 20  # words up to which a column is one of categories even where few repeat
TYPICAL = 1000  # words beyond which the most frequent ones must be frequent
CODED = re.compile(  # mail, web, the two forms of long keys, telephone
    r"[^@\s]+@[^@\s]+\.\w+|\w+://\S+|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|[0-9a-fA-F]{16,}|\+?[\d ()/-]{9,}"
)
KEYED = re.compile(r"[A-Za-z]{0,3}[-_]?\d{4,}")  # a letter or two and a running number
SELDOM = 5  # rows for each value of such a code: with fewer it is a key of somebody who comes back, not a category
LONG, MANY_TOKENS = 50, 6  # letters and words of a cell beyond which it is a text


def guess_words(seen: ColumnSurvey) -> ColumnRole:
    """The role of a column of words."""
    for rule in (_yes_or_no, _text, _name, _ladder):
        found = rule(seen)
        if found is not None:
            return found
    why = f"{seen.distinct:,} words that repeat"
    return joined_levels(as_role(seen.name, "category", why), seen)


def no_and_yes(values: list[str]) -> tuple[str, ...] | None:
    """Two words in the order no, yes; None where they are not such words."""
    plain = {value.casefold(): value for value in values}
    if len(values) != 2 or frozenset(plain) not in YES_NO:
        return None
    return tuple(sorted(values, key=lambda value: value.casefold() in YES))


def _yes_or_no(seen: ColumnSurvey) -> ColumnRole | None:
    levels = no_and_yes([value for value, _ in seen.top])
    if levels is None:
        return None
    return as_role(seen.name, "yes/no", f"two words, {levels[0]} and {levels[1]}", levels)


def _text(seen: ColumnSurvey) -> ColumnRole | None:
    long = seen.tokens >= MANY_TOKENS or seen.length >= LONG
    if not long or seen.distinct <= 0.3 * seen.present or seen.distinct <= SMALL // 2:
        return None
    why = f"sentences, of {seen.tokens:.0f} words on average, that hardly repeat"
    return as_role(seen.name, "free text", why if seen.tokens >= 2 else "long texts that hardly repeat")


def _name(seen: ColumnSurvey) -> ColumnRole | None:
    share = seen.distinct / seen.present
    hardly = "no value occurs twice" if seen.distinct == seen.present else "hardly any value repeats"
    if seen.distinct == seen.present and seen.present > 2:
        return as_role(seen.name, "identifier", f"words or codes, and {hardly}")
    if share > 0.5 and seen.distinct > SMALL:
        return as_role(seen.name, "identifier", f"{seen.distinct:,} different words or codes: {hardly}")
    if seen.distinct > SMALL and all(CODED.fullmatch(value) for value, _ in seen.top):
        return as_role(seen.name, "identifier", "addresses or codes, as keys are")
    if seen.distinct > LEVELS and share > 1 / SELDOM and all(KEYED.fullmatch(value) for value, _ in seen.top):
        return as_role(seen.name, "identifier", f"{seen.distinct:,} numbered codes, each of which comes a few times")
    if says_key(seen.name) and (seen.distinct > LEVELS or (seen.distinct > SMALL and share > 1 / SELDOM)):
        why = f"its name says that it is a key; it has {seen.distinct:,} different values"
        return as_role(seen.name, "identifier", why)
    frequent = sum(count for _, count in seen.top[:LEVELS]) / seen.present
    if seen.distinct > TYPICAL and frequent < 0.1:
        return as_role(seen.name, "identifier", f"{seen.distinct:,} different words, none of them frequent")
    return None


def _ladder(seen: ColumnSurvey) -> ColumnRole | None:
    if not seen.listed or seen.distinct > LEVELS or seen.distinct < 3:
        return None
    values = [str(value) for value, _ in seen.top]
    levels = ladder_of(values, tokens(seen.name))
    if levels is None:
        return None
    why = f"{seen.distinct} words that have an order, from {levels[0]!r} to {levels[-1]!r}"
    return as_role(seen.name, "ordered category", why, levels)


def joined_levels(role: ColumnRole, seen: ColumnSurvey) -> ColumnRole:
    """A category with its levels: all, or the most frequent and one for the others."""
    if seen.listed and seen.distinct <= LEVELS:
        return role._replace(levels=tuple(str(value) for value in sorted(value for value, _ in seen.top)))
    kept = sorted(str(value) for value, _ in seen.top[: LEVELS - 1])
    others = seen.distinct - len(kept)
    rest = f"other ({others:,} values)"
    why = f"{role.why}; {others:,} of {seen.distinct:,} values, the rarest, are taken together"
    return role._replace(levels=(*kept, rest), rest=rest, why=why)
