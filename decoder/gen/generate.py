#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: generate.py ISA_DIR OUT_DIR

Reads every .isa file in ISA_DIR (common.isa first, then by name) and writes OUT_DIR/tables.cpp,
OUT_DIR/include/sassdec/ids.h, typed.hpp, visit.hpp and architectures.hpp there. Mistakes are reported as file:line."""
import glob
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from architectures import emit_architectures
from emit_effects import vocabulary
from emit_tables import emit
from emit_typed import emit_ids, emit_typed, emit_visit, typed_plan
from isa_model import expand
from isa_parse import IsaError, Parser, write_changed


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    isa, out = sys.argv[1:]
    files = sorted(glob.glob(os.path.join(isa, "*.isa")), key=lambda f: (os.path.basename(f) != "common.isa", f))
    try:
        parser = Parser()
        for f in files:
            parser.parse_file(f, os.path.basename(f))
        desc = parser.finish()
        forms = expand(desc)
        plan = typed_plan(forms, desc)
        inc = os.path.join(out, "include", "sassdec")
        os.makedirs(inc, exist_ok=True)
        header = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "include", "sassdec", "effects.h")
        emit(forms, plan, desc, vocabulary(header), os.path.join(out, "tables.cpp"))
        write_changed(os.path.join(inc, "architectures.hpp"), emit_architectures())
        emit_ids(plan, os.path.join(inc, "ids.h"))
        emit_typed(plan, desc, os.path.join(inc, "typed.hpp"))
        emit_visit(plan, desc, forms, os.path.join(inc, "visit.hpp"))
    except IsaError as e:
        print(f"error: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
