"""The search engine with the rows of the table on a device."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from opdt.device.device_run import DeviceDriver, DeviceRun, DeviceTuning
from opdt.device.host_passes import HostPasses
from opdt.device.passes import DevicePasses
from opdt.device.table_question import TableQuestion
from opdt.engines.base import Outcome
from opdt.engines.search import SearchEngine
from opdt.engines.search.run import Prepared
from opdt.problem import Problem, VolumeImpurity
from opdt.scale.answer import first_of
from opdt.scale.driver import Stopped
from opdt.solution import Clock, StopReason

MOST_CLASSES = 255


@dataclass(frozen=True)
class DeviceSearch(SearchEngine):
    """The search engine, which counts rows on a device.

    Parameters
    ----------
    device : str
        "cuda", or "host" for the same search on this machine, which tests compare with it.
    tuning : DeviceTuning

    Objectives other than the VI, and limits on sums of rows, are searched in memory.
    """

    name: ClassVar[str] = "search"

    device: str = "cuda"
    tuning: DeviceTuning = field(default_factory=DeviceTuning)

    def _solve(self, problem: Problem, clock: Clock) -> Outcome:
        vi = isinstance(problem.objective, VolumeImpurity) and not problem.constraints.sums_rows
        if not vi or len(problem.table.classes) > MOST_CLASSES:
            return super()._solve(problem, clock)
        question = TableQuestion(problem, Prepared(problem))
        passes = self._open(question)
        driver = DeviceDriver(clock, passes.result_bytes)
        run = DeviceRun(question, passes, driver, self.switches, self.tuning)
        run.search()
        return _outcome(run)

    def _open(self, question: TableQuestion) -> DevicePasses:
        if self.device == "host":
            return HostPasses(question)
        from opdt.device.cuda_passes import CudaPasses

        return CudaPasses(question)


def _outcome(run: DeviceRun) -> Outcome:
    """What was found; ties are decided by one more pass."""
    found = run.found
    if run.stopped_by is None:
        try:
            found = first_of(run, run.candidates())[0]
        except Stopped as stop:
            run.stopped_by = stop.reason
        except KeyboardInterrupt:
            run.stopped_by = StopReason.INTERRUPTED
    return Outcome(
        rule=None if found is None else run.coded(found),
        bound=run.bound(),
        stopped_by=run.stopped_by or StopReason.FINISHED,
        trace=tuple(run.recorder.points),
        statistics=run.statistics,
    )
