"""Who should compute what, by what nodes forecast: :mod:`foretop.sched.dask` places the tasks of a Dask cluster."""
