"""What confidences are worth: values over the threshold, the price of confidence, calibration and recalibration."""
