"""When and how far the parameters move: after a whole pass, after every mini-batch, along a gradient, in leaps."""

from unveil.schedules.ascent import LBFGS, Ascent
from unveil.schedules.batch import Batch
from unveil.schedules.gradient import Gradient
from unveil.schedules.incremental import Incremental
from unveil.schedules.squarem import Squarem
from unveil.schedules.stepwise import Stepwise

__all__ = ["LBFGS", "Ascent", "Batch", "Gradient", "Incremental", "Squarem", "Stepwise"]
