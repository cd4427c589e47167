"""SOSPA as a cost and a loss, and metrics for torchmetrics."""
