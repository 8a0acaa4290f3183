"""Public names, each with the module that defines it: what tools see, and what loads on first use."""

from unveil.plot.climb import convergence as convergence
from unveil.plot.curve import principal_curve as principal_curve
from unveil.plot.ellipses import mixture as mixture
from unveil.plot.histogram import density as density
from unveil.plot.plane import Plane as Plane
from unveil.plot.replayed import replay as replay
from unveil.plot.scatter import biplot as biplot
from unveil.plot.scatter import principal_plane as principal_plane
from unveil.plot.scores import selection as selection
from unveil.plot.sizes import choice as choice
from unveil.plot.topography import manifold as manifold
from unveil.plot.variance import scree as scree
