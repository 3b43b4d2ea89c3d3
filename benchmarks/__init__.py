"""What is measured, and against what. Run from the checkout: `python -m benchmarks`."""
