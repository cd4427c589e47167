"""Benchmarks, and the simulations behind figures of the documentation. A package, because others are called so."""
