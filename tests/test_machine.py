"""What this process may use of its machine, with files as Linux shows them in containers."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from opdt.errors import MemoryLimit, OpdtError
from opdt.machine import available, cores, format_size, left, refuse_beyond, resident

MB = 1 << 20


@pytest.fixture
def machine(tmp_path):
    """A function that writes files of /proc and /sys below a folder, and returns the folder."""

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


def test_a_system_that_tells_nothing_is_not_limited(tmp_path):
    assert available(tmp_path) is None or sys.platform == "darwin"


def test_the_machine_says_what_is_free(machine):
    root = machine({"proc/meminfo": "MemTotal: 9000 kB\nMemFree: 100 kB\nMemAvailable: 3000 kB\n"})
    assert available(root) == 3000 * 1024


@pytest.mark.parametrize(
    ("files", "left_mb"),
    [
        ({"a/b/memory.max": f"{300 * MB}", "a/b/memory.current": f"{100 * MB}"}, 200),
        # a limit further up holds too
        (
            {
                "a/b/memory.max": "max",
                "a/b/memory.current": f"{100 * MB}",
                "a/memory.max": f"{150 * MB}",
                "a/memory.current": f"{120 * MB}",
            },
            30,
        ),
        # the cache of files can be dropped
        (
            {
                "a/b/memory.max": f"{300 * MB}",
                "a/b/memory.current": f"{290 * MB}",
                "a/b/memory.stat": f"anon 5\nfile 7\ninactive_file {80 * MB}\n",
            },
            90,
        ),
        # above this the container is slowed down until it hardly moves
        (
            {
                "a/b/memory.max": f"{300 * MB}",
                "a/b/memory.high": f"{200 * MB}",
                "a/b/memory.current": f"{100 * MB}",
            },
            100,
        ),
        # inside a container its own folder is the outermost one
        ({"memory.max": f"{64 * MB}", "memory.current": f"{4 * MB}"}, 60),
        ({"a/b/memory.max": f"{3 * MB}", "a/b/memory.current": f"{4 * MB}"}, 0),
        ({"a/b/memory.max": "max", "a/b/memory.current": f"{4 * MB}"}, 5000),
    ],
)
def test_a_container_has_less_than_its_machine(machine, files, left_mb):
    root = machine(
        {
            "proc/meminfo": f"MemAvailable: {5000 * 1024} kB\n",
            "proc/self/cgroup": "0::/a/b\n",
            **{f"sys/fs/cgroup/{name}": text for name, text in files.items()},
        }
    )
    assert available(root) == left_mb * MB


@pytest.mark.parametrize("tree", ["memory", "cpu,memory"])
def test_containers_of_the_first_version_count(machine, tree):
    folder = f"sys/fs/cgroup/{tree}"
    root = machine(
        {
            "proc/meminfo": f"MemAvailable: {5000 * 1024} kB\n",
            "proc/self/cgroup": f"9:name=systemd:/\n4:{tree}:/docker/abc\n0::/\n",
            f"{folder}/memory.limit_in_bytes": "9223372036854771712",
            f"{folder}/memory.usage_in_bytes": f"{9 * MB}",
            f"{folder}/docker/abc/memory.limit_in_bytes": f"{100 * MB}",
            f"{folder}/docker/abc/memory.usage_in_bytes": f"{60 * MB}",
            f"{folder}/docker/abc/memory.stat": f"total_inactive_file {10 * MB}\n",
        }
    )
    assert available(root) == 50 * MB


@pytest.mark.parametrize(
    ("cgroup", "files", "expected"),
    [
        ("0::/", {"cpu.max": "max 100000"}, 8),
        ("0::/", {"cpu.max": "200000 100000"}, 2),
        ("0::/", {"cpu.max": "150000 100000"}, 2),
        ("0::/", {"cpu.max": "1000 100000"}, 1),
        ("0::/x", {"cpu.max": "300000 100000", "x/cpu.max": "max 100000"}, 3),
        (
            "1:cpu:/x",
            {"cpu/x/cpu.cfs_quota_us": "250000", "cpu/x/cpu.cfs_period_us": "100000"},
            3,
        ),
        ("1:cpu:/x", {"cpu/x/cpu.cfs_quota_us": "-1", "cpu/x/cpu.cfs_period_us": "100000"}, 8),
    ],
)
def test_a_container_has_fewer_cores(machine, monkeypatch, cgroup, files, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    root = machine(
        {
            "proc/self/cgroup": cgroup,
            **{f"sys/fs/cgroup/{name}": text for name, text in files.items()},
        }
    )
    assert cores(root) == expected


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on mapped memory is that of Linux")
def test_a_limit_on_the_process_counts():
    code = """
import resource
from opdt.machine import available
before = available()
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
assert 0 < available() < 4 << 30
block = bytearray(1 << 30)
assert available() < 3 << 30
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_this_process_holds_something():
    assert resident() > MB
    assert left(10**15) < 10**15


def test_what_does_not_fit_is_refused_with_one_sentence():
    refuse_beyond(10, 10, "this", "that")
    with pytest.raises(
        MemoryLimit,
        match=r"^the table needs about 3.2 GB of memory and 1.5 kB are free; use less.$",
    ) as caught:
        refuse_beyond(3.2e9, 1500, "the table", "use less")
    assert isinstance(caught.value, OpdtError)
    assert isinstance(caught.value, MemoryError)


def test_sizes_are_shown_in_the_unit_that_suits_them():
    shown = [format_size(n) for n in (12, 1500, 2_500_000, 3.2e9, 4e12, 999_600)]
    assert shown == ["12 bytes", "1.5 kB", "2.5 MB", "3.2 GB", "4 TB", "1 MB"]
