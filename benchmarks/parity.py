"""How close to transformers? The worst relative error of each architecture over all feature and attention maps.

    python benchmarks/parity.py

Writes results/parity.json. Tiny random models with redrawn weights, padded batches with segments: the same comparison
as the tests make, with its numbers shown. IB-BERT, which transformers cannot run, is compared with numpy.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from record import record

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "model")]


def main() -> None:
    import test_ib_bert
    import test_parity

    import parity
    from pocketbert.model import build_encoder

    errors = {}
    for name in test_parity.MODELS:
        theirs = test_parity.oracle(name)
        encoder = test_parity.reference(parity.ours(theirs))
        errors[name] = parity.encoder_error(theirs, encoder, parity.batch())
    errors["ib-bert"] = test_ib_bert.worst_error(parity.redraw(build_encoder(test_ib_bert.CONFIG)))
    measured = {"tolerance": parity.TOLERANCE, "largest_relative_error": errors}
    record("parity", measured)
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
