"""What adaptation is measured on: corruptions, data sets, streams and source models; it knows nothing of methods."""
