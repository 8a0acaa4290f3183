"""What a fitted chain does: decode, smooth, filter, forecast, draw, fill in."""
