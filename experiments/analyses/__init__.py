"""What a sweep's runs say, analysis by analysis: rows of runs in, tidy tables with intervals out.

Each is told apart by the picture that shows it. Differences are taken inside each world and only then
averaged; nothing here reads a file, and nothing draws.
"""
