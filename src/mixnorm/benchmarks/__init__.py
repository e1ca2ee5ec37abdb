"""What adaptation is measured on: corruptions, data sets, streams and source models, knowing nothing of methods."""
