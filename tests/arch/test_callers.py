"""Every function of a public header has a caller in the product or in an example.

A caller is any use in a .c file of engine/ or server/, or in docs/examples, other than the function's
own head; an inline function of a public header counts too. What has none is kept for programs that
embed the library, with a reason here, or goes.
"""
import re
from house import c_files, code_only, verdict
from test_abi import declared

# For programs that embed the library.
KEPT = {
    **dict.fromkeys(("tb_tariff_amounts", "tb_tariff_amounts_sorted",
                     "tb_tariff_amounts_wide", "tb_tariff_prepare", "tb_tariff_total_sorted",
                     "tb_units_sort", "tb_units_sum"),
                    "rates a million usages at once; the bench of rating (w3) measures it"),
    "tb_store_apply_piece": "one piece, for programs that embed the library (docs/operate/standby.md)",
    "tb_bundle_next": "a program that follows a log reads its entry bundles",
    "tb_check_rate": "a program that has the parts of a bundle rates them without the proofs; the oracle and the fuzz target do",
    "tb_code_name": "a program that shows a code writes its name",
    "tb_explain_invoice": "programs that are linked to 1.0 call it; the server asks for a day too",
    **dict.fromkeys(("tb_store_drop_events", "tb_store_drop_logs", "tb_store_forget_rejects"),
                    "programs that are linked to 1.0 call them; the server lets go of some at a time"),
}

HEAD = re.compile(r"(?:[A-Za-z_]\w*[\s*]+)+(tb_\w+)\s*\([^;{}]*\)\s*(?:\{|;|__attribute__)")
NAME = re.compile(r"\btb_\w+\b")


def used(path):
    """The names in the text that are not the head of their own definition or prototype."""
    text = code_only(path.read_text())
    heads = {match.start(1) for match in HEAD.finditer(text)
             if text[:match.start()].endswith("\n") and not match.group().startswith("return")}
    return {match.group() for match in NAME.finditer(text) if match.start() not in heads}


files = [*c_files("engine", "server", suffixes=(".c",)),
         *c_files("docs/examples", suffixes=(".c", ".cpp")), *c_files("include", suffixes=(".h",))]
names = set().union(*(used(path) for path in files))
functions = declared()
violations = [f"{function} has no caller: use it, take it out, or say in KEPT who needs it"
              for function in sorted(functions - names - set(KEPT))]
violations += [f"KEPT names {function}, which has a caller or is gone"
               for function in sorted(KEPT) if function in names or function not in functions]
verdict(violations, f"{len(functions)} public functions, each with a caller")
