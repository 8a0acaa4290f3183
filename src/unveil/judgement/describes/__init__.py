"""Does the model describe the data? A goodness of fit for every kind of model."""
