"""What components and states emit: the attributes a user sees, the parameters a model has, and the way between."""
