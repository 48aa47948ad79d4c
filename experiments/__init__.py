"""Who runs it: designs, runner, store, statistics, figures, and the command line."""
