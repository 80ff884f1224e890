"""Blocking calls of mpi4py with known answers; it begins MPI for several threads."""

from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
left, right = (rank - 1) % size, (rank + 1) % size
total = size * (size - 1) // 2

assert comm.sendrecv({"from": rank}, dest=right, source=left) == {"from": left}
assert comm.allreduce(rank) == total
assert comm.bcast("text" if rank == 0 else None) == "text"
assert comm.gather(rank) == (list(range(size)) if rank == 0 else None)
assert comm.scatter([[k] for k in range(size)] if rank == 0 else None) == [rank]
assert comm.alltoall([(rank, k) for k in range(size)]) == [(k, rank) for k in range(size)]
request = comm.isend("x" * 100_000, dest=right, tag=1)
message = comm.mprobe(source=left, tag=1)
assert message.recv() == "x" * 100_000
request.wait()
for _ in range(20):
    value, result = array("d", [rank]), array("d", [0])
    comm.Allreduce(value, result)
    assert result[0] == total
    comm.Reduce(MPI.IN_PLACE if rank == 0 else value, value if rank == 0 else None, op=MPI.MAX)
    assert rank != 0 or value[0] == size - 1
comm.Barrier()
if rank == 0:
    print("all is right")
