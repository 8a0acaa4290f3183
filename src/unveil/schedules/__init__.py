"""When and how far the parameters move: after a whole pass, or after every mini-batch."""

from unveil.schedules.batch import Batch
from unveil.schedules.stepwise import Stepwise

__all__ = ["Batch", "Stepwise"]
