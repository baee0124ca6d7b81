"""The one training loop every recipe shares.

A recipe gives a model, examples, a loss and settings to `pocketbert.train.loop.train`; the loop does the
rest: batches by length, accumulation, precision, rates, evaluation, checkpoints, resuming, logs and curves.
"""
