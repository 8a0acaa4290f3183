"""What a fit is checked for, and how it is said."""

from unveil.certificate.certificate import Certificate, Finding, FitWarning, NotConvergedWarning
from unveil.certificate.checks import examine

__all__ = ["Certificate", "Finding", "FitWarning", "NotConvergedWarning", "examine"]
