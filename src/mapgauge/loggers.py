"""Logs results to Weights & Biases, TensorBoard or MLflow with one call.

Each function logs the same: every value as a scalar, the curves and distributions as pictures, pictures of the worst
frames, and the report. The package of the logger and matplotlib are imported when its function is called.
"""

from mapgauge.training.loggers import log_mlflow, log_tensorboard, log_wandb

__all__ = ["log_mlflow", "log_tensorboard", "log_wandb"]
