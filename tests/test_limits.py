"""Promises about memory, kept by real processes that may map only so much.

Each child ends by itself: with an answer, or with one sentence. Never by a signal, and never with
a bare MemoryError.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
import textwrap

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the limit on mapped memory is that of Linux"
)

LIMIT = """
def allow(megabytes):
    "From here on the process may map so much more."
    import resource
    with open("/proc/self/statm") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + megabytes * 2**20,) * 2)
"""


def answer(code: str, timeout: float = 300) -> str:
    """What a child prints that runs this code; its errors of opdt are printed as one line."""
    body = textwrap.indent(textwrap.dedent(code), "    ")
    script = (
        f"import opdt\n{LIMIT}\ntry:\n{body}\nexcept opdt.OpdtError as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    child = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=timeout
    )
    assert child.returncode == 0, child.stderr[-2000:]
    lines = child.stdout.strip().splitlines()
    assert len(lines) == 1, child.stdout
    return lines[0]


@pytest.mark.parametrize("megabytes", [150, 300, 400, 2000])
def test_coding_fits_or_is_refused(megabytes):
    told = answer(f"""
        import numpy as np
        from opdt.problem.arguments import resolve_table
        X = np.random.default_rng(0).random((400_000, 50))
        allow({megabytes})
        print(resolve_table(X, X[:, 0] > 0.9, None, None).n_rows)
    """)
    if megabytes == 2000:
        assert told == "400000"
    elif told != "400000":
        assert told.startswith("MemoryLimit coding 400,000 rows of 50 columns needs ")
        assert told.endswith("or let files be read in pieces by 'memory_limit'.")


@pytest.mark.parametrize(
    ("kind", "line", "refused"),
    [
        ("csv.gz", "0," * 49 + "1\n", True),
        ("csv.gz", "," * 49 + "\n", True),
        ("csv.gz", "1\n", True),
        ("csv.gz", "0.5773502691896258,text of some length,x\n", True),
        ("csv", "0," * 49 + "1\n", True),
        ("csv", "0.5,1.5,y\n", False),
    ],
)
def test_a_text_file_is_read_or_refused_before_it_is_unpacked(tmp_path, kind, line, refused):
    """Files that unpack to 100 MB, in a process that may map 300 MB more; and a small one."""
    path = tmp_path / f"data.{kind}"
    width = line.count(",") + 1
    block = line.encode() * (1_000_000 // len(line))
    with gzip.open(path, "wb", 1) if kind == "csv.gz" else path.open("wb") as file:
        file.write(",".join(f"c{j}" for j in range(width)).encode() + b"\n")
        for _ in range(100 if refused else 1):
            file.write(block)
    told = answer(f"""
        import io
        import polars, pyarrow.csv  # which map a gigabyte each for themselves
        from opdt.table import read_frame
        polars.DataFrame({{"x": range(1000)}}).sum()
        pyarrow.csv.read_csv(io.BytesIO(b"x\\n" + b"1\\n" * 1000))
        allow({300 if refused else 1500})
        print(len(read_frame({str(path)!r})))
    """)
    if refused:
        assert told.startswith(f"MemoryLimit reading {str(path)!r} needs ")
        assert told.endswith("or fewer rows or columns.")
    else:
        assert told == str(len(block) // len(line))


def test_a_parquet_file_is_refused_by_what_it_unpacks_to(tmp_path):
    """A hundred million equal rows are a few kilobytes in the file."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "data.parquet"
    part = pa.table({"x": np.zeros(1_000_000), "y": np.zeros(1_000_000, np.int64)})
    with pq.ParquetWriter(path, part.schema) as writer:
        for _ in range(100):
            writer.write_table(part)
    assert path.stat().st_size < 1_000_000
    told = answer(f"""
        import polars
        from opdt.table import read_frame
        polars.read_parquet({str(path)!r}, n_rows=10)
        allow(500)
        print(len(read_frame({str(path)!r})))
    """)
    assert told.startswith(f"MemoryLimit reading {str(path)!r} needs more than the ")
