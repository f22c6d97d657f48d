"""The search on rows that lie on a GPU.

The search is that of `opdt.engines.search`, and its rows are asked in passes as those of files are
(`opdt.scale.partition_rows`). Only what a pass does is new: `CudaPasses` does it on a CUDA device,
`HostPasses` on this machine, with the same result to the last bit.
"""

from opdt.device.device_search import DeviceSearch, DeviceUse, on_device

__all__ = ["DeviceSearch", "DeviceUse", "on_device"]
