"""What thresholds on the confidence do."""
