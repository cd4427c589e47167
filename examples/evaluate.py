"""Evaluates two detectors in a synthetic world, lists their worst frames, and compares them.

The world is generated (``mapgauge.demo``). To evaluate your own files, pass their paths instead of the frames.
"""

import time

import mapgauge as mg
from mapgauge.demo import demo_world

FRAMES = 80
WORST = 3


def main() -> None:
    """Evaluate both detectors and print the results."""
    methods = []
    for quality in ("good", "poor"):
        predictions, truth = demo_world(FRAMES, quality=quality)
        begin = time.perf_counter()
        results = mg.evaluate(predictions, truth, "paper-60x30", ranges=(0, 10, 20, 30))
        methods.append(results)
        seconds = time.perf_counter() - begin
        print(f"The {quality} detector, {FRAMES} frames evaluated in {seconds:.2f} s\n")
        print(results.table())
        print(f"\nIts worst {WORST} frames:")
        for row in results.frames(count=WORST):
            print(f"  {row['token']}: PLD {row['pld']:.3f}, {row['predictions']} predictions, {row['truth']} true")
        print()
    print("Which is better? Values with bootstrap intervals over scenes:\n")
    print(mg.compare(methods, names=["good", "poor"]).table())


if __name__ == "__main__":
    main()
