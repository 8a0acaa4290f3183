"""Public names, each with the module that defines it: what tools see, and what loads on first use."""

from unveil import engines as engines
from unveil import expectations as expectations
from unveil import families as families
from unveil import grammar as grammar
from unveil import information as information
from unveil import plot as plot
from unveil import schedules as schedules
from unveil import selection as selection
from unveil.chains.categorical import CategoricalHMM as CategoricalHMM
from unveil.chains.gaussian import GaussianHMM as GaussianHMM
from unveil.chains.mixed import MixedHMM as MixedHMM
from unveil.chains.poisson import PoissonHMM as PoissonHMM
from unveil.clusters.kernel_kmeans.kernel_kmeans import KernelKMeans as KernelKMeans
from unveil.clusters.kmeans.kmeans import KMeans as KMeans
from unveil.clusters.medoids.kmedoids import KMedoids as KMedoids
from unveil.core.loop import watch as watch
from unveil.core.memory import memory_limit as memory_limit
from unveil.core.snapshots import snapshots as snapshots
from unveil.estimation.persistence import load as load
from unveil.grammar.pcfg.pcfg import PCFG as PCFG
from unveil.judgement.examine import examine as examine
from unveil.mixtures.bernoulli import BernoulliMixture as BernoulliMixture
from unveil.mixtures.categorical import CategoricalMixture as CategoricalMixture
from unveil.mixtures.gaussian import GaussianMixture as GaussianMixture
from unveil.mixtures.merging import merge as merge
from unveil.mixtures.mixed import MixedMixture as MixedMixture
from unveil.mixtures.poisson import PoissonMixture as PoissonMixture
from unveil.mixtures.student import StudentMixture as StudentMixture
from unveil.projections.curves.principal_curve import PrincipalCurve as PrincipalCurve
from unveil.projections.discriminant.discriminant import LinearDiscriminantAnalysis as LinearDiscriminantAnalysis
from unveil.projections.factors.factor_analysis import FactorAnalysis as FactorAnalysis
from unveil.projections.factors.probabilistic_pca import ProbabilisticPCA as ProbabilisticPCA
from unveil.projections.ica.ica import ICA as ICA
from unveil.projections.pca.pca import PCA as PCA
from unveil.projections.topographic.topographic_map import GenerativeTopographicMap as GenerativeTopographicMap
from unveil.reporting.comparison.compare import compare as compare
from unveil.reporting.report import report as report
from unveil.selection.search import select as select
from unveil.sources.files.scan import scan as scan
from unveil.storage.checkpoint import checkpoint as checkpoint

__version__: str
