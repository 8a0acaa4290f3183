"""Words that have an order: sizes, months, grades, ranges of numbers, numbered stages.

>>> ladder_of(["high", "Low", "medium"])
('Low', 'medium', 'high')
>>> ladder_of(["10-20", "<10", "20+"])
('<10', '10-20', '20+')
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_LADDERS = (
    "none/no|lowest|very low|low/lo|below average|moderate/medium/med/mid/normal/average|above average|high/hi"
    "|very high|highest",
    "bottom|lower|low|mid/middle/center/centre|high|upper|top",
    "too little/too few|about right/just right|too much/too many",
    "youngest|younger|middle|older|oldest",
    "none/no|minimal|mild/minor/light|moderate|serious/severe|critical|extreme|fatal",
    "none|low/minor|medium/moderate|high/major|critical|blocker",
    "xxs|xs/extra small|s/small|m/medium|l/large|xl/extra large|xxl|xxxl",
    "tiny|very small|small|medium|large/big|very large/very big|huge",
    "strongly disagree/totally disagree|disagree|somewhat disagree|neither/neutral/undecided/neither agree nor disagree"
    "|somewhat agree|agree|strongly agree/totally agree",
    "very dissatisfied|dissatisfied|neutral|satisfied|very satisfied",
    "very unlikely|unlikely|neutral/possible|likely|very likely",
    "never|almost never/rarely/seldom|sometimes/occasionally|often/frequently/usually|almost always/very often|always",
    "never|yearly/annually|quarterly|monthly|weekly|daily|hourly",
    "terrible|very bad|bad|poor|fair/average/ok|good|very good|premium/great|excellent/ideal|outstanding",
    "fair|good|very good|premium|ideal",
    "i3|i2|i1|si3|si2|si1|vs2|vs1|vvs2|vvs1|if|fl",
    "january/jan|february/feb|march/mar|april/apr|may|june/jun|july/jul|august/aug|september/sep/sept|october/oct"
    "|november/nov|december/dec",
    "monday/mon|tuesday/tue/tues|wednesday/wed|thursday/thu/thur/thurs|friday/fri|saturday/sat|sunday/sun",
    "winter|spring|summer|autumn/fall",
    "first/1st|second/2nd|third/3rd|fourth/4th|fifth/5th|sixth/6th",
    "i|ii|iii|iv|v|vi|vii|viii|ix|x",
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve",
    "baby/infant|toddler|child/kid|teen/teenager/adolescent|young adult/young|adult/middle-aged|senior/elderly/old",
    "entry/trainee/intern|junior|mid/intermediate/regular|senior|lead/principal|executive",
    "beginner/novice/basic|intermediate|advanced|expert/master",
    "freshman|sophomore|junior|senior",
    "no schooling/none|preschool|primary/elementary/primary school|middle school|some high school/less than high school"
    "|high school/secondary/high school graduate|some college|associate/associate's degree"
    "|bachelor/bachelors/bachelor's/bachelor's degree/graduate|master/masters/master's/master's degree"
    "|doctorate/phd/doctoral",
    "freezing|cold|cool|mild|warm|hot",
    "basic/free|bronze|standard|silver|gold|premium|platinum|diamond",
    "past|present|future",
)
_GRADES = "a+|a|a-|b+|b|b-|c+|c|c-|d+|d|d-|e|f"
_GRADED = frozenset(["grade", "grades", "mark", "rating", "score", "class"])
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")  # between the words of StronglyAgree
_SHARE = re.compile(r" \d+ ?%$")  # of "top 25%"
_NUMBERED = re.compile(
    r"(stage|grade|level|tier|phase|step|year|week|quarter|q|wave|round|degree|score|rank)[\s_-]*(\d+)"
)
_LED = re.compile(r"(\d{1,2})[ .):]+\S.*")  # 1_good, 2_fair
_BOUND = r"[$€£]?\s*(\d[\d,.]*)\s*([km])?\s*%?"
_OPEN_BELOW = re.compile(rf"(?:<=?|under|below|less than|up to|at most)\s*{_BOUND}.*")
_OPEN_ABOVE = re.compile(
    rf"(?:>=?|over|above|more than|at least)\s*{_BOUND}.*|{_BOUND}\s*(?:\+|or more|and over|and above|plus).*"
)
_BETWEEN = re.compile(rf"[\[(]?\s*{_BOUND}\s*(?:-|\u2013|to|,|;|\.\.)\s*{_BOUND}\s*[\])]?[a-z ]*")

Key = Callable[[str], "float | None"]


def _ranks(ladder: str) -> dict[str, float]:
    return {word: float(place) for place, step in enumerate(ladder.split("|")) for word in step.split("/")}


_RANKS = tuple(map(_ranks, _LADDERS))


def ladder_of(values: Sequence[str], said: Sequence[str] = ()) -> tuple[str, ...] | None:
    """`values` in their order, if they have one that is known; `said` are the words of the column's name."""
    keys: list[Key] = [ladder.get for ladder in _RANKS]
    keys += [_ranks(_GRADES).get] if _GRADED & set(said) else []
    for key in (*keys, _numbered, _range):
        ranks = [key(_plain(value)) for value in values]
        if None not in ranks and len(set(ranks)) == len(values):
            return tuple(value for _, value in sorted(zip(ranks, values, strict=True)))  # type: ignore[type-var]
    return None


def _plain(value: str) -> str:
    return _SHARE.sub("", " ".join(_WORDS.sub(" ", value).casefold().replace("_", " ").split()))


def _numbered(word: str) -> float | None:
    found = _NUMBERED.fullmatch(word)
    if found is not None:
        return float(found[2])
    led = _LED.fullmatch(word)
    return float(led[1]) if led else None


def _range(word: str) -> float | None:
    """Where a range of numbers lies; open ones beyond their bound."""
    if (found := _BETWEEN.fullmatch(word)) is not None:
        return _number(found[1], found[2])
    if (found := _OPEN_BELOW.fullmatch(word)) is not None:
        bound = _number(found[1], found[2])
        return None if bound is None else bound - 0.5 * abs(bound) - 1e-6
    if (found := _OPEN_ABOVE.fullmatch(word)) is not None:
        bound = _number(found[1] or found[3], found[2] or found[4])
        return None if bound is None else bound + 1e-6
    return None


def _number(digits: str, scale: str | None) -> float | None:
    try:
        return float(digits.strip(",.").replace(",", "")) * {"k": 1e3, "m": 1e6}.get(scale or "", 1.0)
    except ValueError:
        return None
