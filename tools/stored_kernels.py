"""Writes ``stored.zip``: the kernels of usual work as LLVM's intermediate code (``kernels/_stored.py``).

Run it after a change of kernels, after ``python -m tools.kernel_signatures``. It takes half a minute. The file belongs
to one version of numba and one platform. Stale code in it is not used, so it must be current for a release only:

    python -m tools.stored_kernels            # write it
    python -m tools.stored_kernels --check    # fail if code is missing or stale, or if the file is not what is written
    python -m tools.stored_kernels --check --exact   # fail, too, if the bytes cannot be compared
    python -m tools.stored_kernels --requirements    # the packages that the file was written with, for pip

The same versions of Python, numba, llvmlite and numpy give the same bytes, in any folder. The index in the file names
them. ``--check`` writes the file again and compares the bytes where these versions are the installed ones. With
``--exact``, other versions are an error. A job of the workflow installs the versions of the file and does this.
"""

import gc
import json
import os
import platform
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core.callconv import CPUCallConv
from numba.core.typing.templates import _OverloadFunctionTemplate

from mapgauge.kernels import _stored, compiling
from mapgauge.kernels._cache import file_of, stamp
from mapgauge.kernels._inner import WithoutMachineCode, compile_inner
from mapgauge.kernels._stored import in_words, type_from
from mapgauge.kernels.compiling import Compiled, kernel_named


def key_of(one: Compiled) -> str:
    """Return the key of a kernel in the index."""
    return _stored.key_of(one.kernel, tuple(map(type_from, one.types)))


def stamp_of(one: Compiled) -> str:
    """Return the stamp of the files of a kernel."""
    return stamp(file_of(one.kernel.rpartition(".")[0]))


def code_of(one: Compiled, name: str) -> tuple[_stored.Stored, bytes]:
    """Return a kernel's row in the index, and its code as a function with this name."""
    kernel, types = kernel_named(one.kernel), tuple(map(type_from, one.types))
    options: dict[str, Any] = dict(kernel.entry.targetoptions)
    for needless in ("nopython", "boundscheck"):
        options.pop(needless, None)
    inner = compile_inner(cache=False, **options)(kernel.__wrapped__)  # type: ignore[attr-defined]
    inner.compile(types)
    compiled = inner.overloads[types]
    library, returned = compiled.library, compiled.signature.return_type
    if type_from(in_words(returned)) != returned:
        raise ValueError(f"{one.kernel} returns {returned}, which has no name")
    module = library._get_module_for_linking().clone()
    module.get_function(compiled.fndesc.llvm_func_name).name = name
    passes = llvm.create_new_module_pass_manager()
    passes.add_strip_symbols_pass()  # names of variables, half of the size
    passes.run(module, library._codegen._pass_builder(opt=0))
    return _stored.Stored(name, stamp_of(one), in_words(returned)), module.as_bitcode()


def compile_numba_inside() -> None:
    """Compile also functions of numba, such as ``np.empty``, without machine code of their own."""
    numba_decorator = _OverloadFunctionTemplate._get_jit_decorator

    def decorator(self: Any) -> Any:
        decorate = numba_decorator(self)
        own = {"pipeline_class": WithoutMachineCode, "no_cfunc_wrapper": True, "no_cpython_wrapper": True}
        return lambda **options: decorate(**(options | own))

    setattr(_OverloadFunctionTemplate, "_get_jit_decorator", decorator)  # noqa: B010


def versions() -> dict[str, str]:
    """Return the versions that decide the bytes of the file."""
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "numpy": np.__version__,
    }


def write(kernels: list[Compiled], path: Path) -> None:
    """Write the file."""
    rows = {}
    codes = {}
    for number, one in enumerate(kernels):
        name = f"stored.{one.kernel}.{number}"
        rows[key_of(one)], codes[name] = code_of(one, name)
    index = {"made_for": _stored.made_for(), "versions": versions(), "kernels": rows}
    codes[_stored.INDEX] = json.dumps(index, indent=1).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name, code in codes.items():
            # Files in the archive have no date of their own, so that the bytes are the same every time.
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(entry, code)


def write_in_new_process(path: Path) -> None:
    """Write the file in a process that finds no compiled kernels.

    numba numbers the functions that it compiles, and the numbers are part of their names in the code. They would depend
    on which kernels were loaded from the cache.
    """
    with tempfile.TemporaryDirectory() as empty:
        environment = os.environ | {"NUMBA_CACHE_DIR": empty}
        subprocess.run([sys.executable, "-m", "tools.stored_kernels", WRITE, str(path)], check=True, env=environment)


def made_with() -> dict[str, str]:
    """Return the versions that the file of the package was written with."""
    with zipfile.ZipFile(_stored.FILE) as file:
        found: dict[str, str] = json.loads(file.read(_stored.INDEX))["versions"]
    return found


def requirements() -> list[str]:
    """Return the packages that the file of the package was written with, as pip takes them."""
    return [f"{name}=={version}" for name, version in made_with().items() if name != "python"]


def check(kernels: list[Compiled], *, exact: bool) -> str:
    """Return what is wrong with the file of the package, or "". If exact, other versions than those of the file are."""
    stored = _stored.index()
    stale = [one.kernel for one in kernels if key_of(one) not in stored or stored[key_of(one)].stamp != stamp_of(one)]
    if stale:
        return f"missing or stale: {', '.join(stale)}"
    if made_with() != versions():
        reason = f"written with {made_with()}, so its bytes are not compared with those of {versions()}"
        if exact:
            return reason
        sys.stderr.write(f"{reason}\n")
        return ""
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder) / _stored.FILE.name
        write_in_new_process(again)
        if again.read_bytes() != _stored.FILE.read_bytes():
            return f"{_stored.FILE.name} is not the file that this tool writes"
    return ""


CHECK = "--check"
EXACT = "--exact"
REQUIREMENTS = "--requirements"
WRITE = "--write-here"  # used by ``write_in_new_process`` only


def main(arguments: list[str]) -> None:
    """Write the file, check it, or print with what it was written."""
    if arguments == [REQUIREMENTS]:
        sys.stdout.write("".join(f"{line}\n" for line in requirements()))
        return
    kernels = compiling.needed_for(compiling.table())
    if arguments in ([CHECK], [CHECK, EXACT]):
        wrong = check(kernels, exact=EXACT in arguments)
        if wrong:
            sys.exit(f"{wrong}. Run python -m tools.stored_kernels")
        return
    if not arguments:
        write_in_new_process(_stored.FILE)
        sys.stderr.write(f"{len(kernels)} kernels, {_stored.FILE.stat().st_size / 1e6:.2f} MB\n")
        return
    if arguments[0] != WRITE:
        sys.exit(f"expected {CHECK}, {CHECK} {EXACT}, {REQUIREMENTS} or nothing, got {' '.join(arguments)}")
    gc.disable()
    compile_numba_inside()
    # An exception would name the file of numba that it comes from, with its folder on this machine.
    setattr(CPUCallConv, "build_excinfo_struct", lambda _, exc, given, *__: (exc, given, None))  # noqa: B010
    write(kernels, Path(arguments[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
