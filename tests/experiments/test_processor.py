from __future__ import annotations

from time import perf_counter, process_time

from hypothesis import given
from hypothesis import strategies as st

from opdt.experiments.processor import ProcessorLimit


def test_work_is_cancelled_after_its_seconds_of_the_processor():
    with ProcessorLimit(0.1) as processor:
        before, turns = process_time(), 0
        while not processor.cancel.is_set():
            turns += 1
        used = process_time() - before
    assert processor.seconds >= 0.1
    assert used <= processor.seconds + 0.05


def test_moments_of_the_clock_become_moments_of_the_processor():
    with ProcessorLimit(60) as processor:
        started = perf_counter()
        while perf_counter() - started < 0.2:
            pass
        worked = perf_counter() - started
        processor.cancel.wait(0.2)
    assert processor.at(0) == 0
    assert 0 < processor.at(worked) <= processor.seconds
    assert processor.at(1e9) == processor.seconds


@given(st.lists(st.tuples(st.floats(0.001, 5), st.floats(0, 5)), min_size=1, max_size=8), st.data())
def test_between_two_looks_the_processor_goes_at_an_even_pace(gaps, data):
    processor = ProcessorLimit(1)
    for clock, used in gaps:
        processor._clock.append(processor._clock[-1] + clock)
        processor._processor.append(processor._processor[-1] + used)
    for clock, used in zip(processor._clock, processor._processor, strict=True):
        assert abs(processor.at(clock) - used) < 1e-9
    first, second = sorted(data.draw(st.tuples(st.floats(0, 50), st.floats(0, 50))))
    assert processor.at(first) <= processor.at(second) + 1e-9
