"""Public names, each with the module that defines it: what tools see, and what loads on first use."""

from unveil.families.bernoulli import Bernoulli as Bernoulli
from unveil.families.categorical import Categorical as Categorical
from unveil.families.compound import Compound as Compound
from unveil.families.compound_start import split as split
from unveil.families.exponential import Exponential as Exponential
from unveil.families.gaussian import Gaussian as Gaussian
from unveil.families.held.family import Held as Held
from unveil.families.held.family import hold as hold
from unveil.families.poisson import Poisson as Poisson
from unveil.families.product import Product as Product
from unveil.families.student import Student as Student
