"""Public names, each with the module that defines it: what tools see, and what loads on first use."""

from unveil.judgement.criteria.clusterings import CLUSTERINGS as CLUSTERINGS
from unveil.judgement.criteria.criteria import CRITERIA as CRITERIA
from unveil.judgement.criteria.criteria import Criterion as Criterion
from unveil.judgement.criteria.opinions import Choice as Choice
from unveil.judgement.criteria.opinions import Opinion as Opinion
from unveil.selection.outcome import Selection as Selection
from unveil.selection.search import select as select
