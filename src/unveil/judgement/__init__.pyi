"""Public names, each with the module that defines it: what tools see, and what loads on first use."""

from unveil.judgement.examine import examine as examine
