"""Public names, each with the module that defines it: what tools see, and what loads on first use."""

from unveil.plot.climb import convergence as convergence
from unveil.plot.columns.correlations import Associations as Associations
from unveil.plot.columns.correlations import association as association
from unveil.plot.columns.correlations import correlations as correlations
from unveil.plot.columns.drift import drift as drift
from unveil.plot.columns.loadings import loadings as loadings
from unveil.plot.columns.missing import missing as missing
from unveil.plot.curve import principal_curve as principal_curve
from unveil.plot.ellipses import mixture as mixture
from unveil.plot.histogram import density as density
from unveil.plot.marks.hover import RowNotes as RowNotes
from unveil.plot.plane import Plane as Plane
from unveil.plot.replayed import replay as replay
from unveil.plot.scatter import biplot as biplot
from unveil.plot.scatter import principal_plane as principal_plane
from unveil.plot.scores import selection as selection
from unveil.plot.sizes import choice as choice
from unveil.plot.topography import manifold as manifold
from unveil.plot.variance import scree as scree
from unveil.projections.pca.parallel import parallel_analysis as parallel_analysis
