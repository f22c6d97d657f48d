"""The search on rows that lie on a GPU.

The search is that of `opdt.engines.search`, and its rows are asked in passes as those of files are
(`opdt.scale.partition_rows`). Only what a pass does is new: `CudaPasses` does it on a CUDA device,
`HostPasses` on this machine, with the same result to the last bit.
"""
