"""Small tables at hand: whole passes of EM in one call, parameters as one vector."""
