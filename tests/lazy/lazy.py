"""Writes a stand-in for a shared library that loads the real one at the first call of a function.

    lazy.py LIBRARY OUT.c OUT.map

The tests start tollbook tens of thousands of times, and most of its start is the loader at work on
libraries that most commands never call: libcurl, libmicrohttpd and libcrypto bring thirty others. A
stand-in has the name, the symbols and the versions of the real library; the loader finds it through
the executable's RUNPATH, which an installed one does not have. Each function is a jump through a slot
that is filled at the first call (load.c). The jumps are assembler of x86-64.
"""
import re
import subprocess
import sys
from pathlib import Path

FUNCTION = """    .globl {name}
    .type {name}, @function
{name}:
    endbr64
    movq lazy_slots+{offset}(%rip), %r11
    testq %r11, %r11
    jz 1f
    jmp *%r11
1:  pushq ${index}
    jmp lazy_enter
    .size {name}, .-{name}
"""

# All that may hold an argument is kept: rax counts the vector registers of a call with "...".
INTEGERS = ("rax", "rdi", "rsi", "rdx", "rcx", "r8", "r9")
VECTORS = range(8)
ROOM = 8 + 16 * len(VECTORS)  # and the stack is a multiple of 16 at the call
ENTER = "\n    ".join([
    "    .text\nlazy_enter:",
    *(f"pushq %{name}" for name in INTEGERS),
    f"subq ${ROOM}, %rsp",
    *(f"movups %xmm{i}, {16 * i}(%rsp)" for i in VECTORS),
    f"movq {ROOM + 8 * len(INTEGERS)}(%rsp), %rdi",
    "call lazy_load",
    "movq %rax, %r11",
    *(f"movups {16 * i}(%rsp), %xmm{i}" for i in VECTORS),
    f"addq ${ROOM}, %rsp",
    *(f"popq %{name}" for name in reversed(INTEGERS)),
    "addq $8, %rsp",
    "jmp *%r11\n"])


# Variables of GnuTLS that hold a function of the C library. libmicrohttpd reads the first; its others are used by nothing here.
ALLOCATORS = {"gnutls_malloc": "malloc", "gnutls_calloc": "calloc", "gnutls_realloc": "realloc", "gnutls_free": "free"}


def symbols(library):
    """(name, version or "") of each function that the library exports, and of each of ALLOCATORS."""
    said = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True,
                          text=True).stdout
    found, held = set(), set()
    for _, kind, symbol in (line.split() for line in said.splitlines()):
        if kind == "A":
            continue  # a version's own name
        name, version = re.fullmatch(r"(\w+)(?:@@?(.+))?", symbol).groups("")
        if kind in "TW":
            found.add((name, version))
        elif name in ALLOCATORS:
            held.add((name, version))
        elif "gnutls" not in library:
            sys.exit(f"{library} exports {symbol}, which is no function: no stand-in for it")
    return sorted(found), sorted(held)


def code(library, names, held):
    jumps = "".join(FUNCTION.format(name=name, index=i, offset=8 * i) for i, name in enumerate(names))
    lines = "\n".join(f'    "{line}\\n"' for line in (ENTER + jumps).splitlines())
    listed = "\n".join(f'    "{name}\\0"' for name in names)
    variables = "".join(f"extern void *{name};\nvoid *{name} = (void *){ALLOCATORS[name]};\n" for name in held)
    return (f'/* The stand-in of {library}, by tests/lazy/lazy.py. */\n#include "load.c"\n\n'
            f"_Atomic(void *) lazy_slots[{len(names)}];\n"
            f'const char lazy_library[] = "{library}";\n'
            f"const char lazy_names[] =\n{listed};\n{variables}\n__asm__(\n{lines});\n")


def script(found):
    """The linker's script of versions: only the library's own symbols are to be seen."""
    nodes = {}
    for name, version in found:
        nodes.setdefault(version, []).append(name)
    hidden = " local: *;"
    return "".join(f"{version} {{ global: {'; '.join(names)};{hidden if i == 0 else ''} }};\n"
                   for i, (version, names) in enumerate(nodes.items()))


def main(library, source, versions):
    found, held = symbols(library)
    Path(source).write_text(code(library, [name for name, _ in found], [name for name, _ in held]))
    Path(versions).write_text(script(found + held))


if len(sys.argv) != 4:
    sys.exit(__doc__)
main(*sys.argv[1:])
