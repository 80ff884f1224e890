! Likewise from Fortran 2008, where the kind of a count chooses the function.
program counts
  use mpi_f08
  implicit none
  integer(MPI_COUNT_KIND), parameter :: large = 3
  integer :: rank, call
  double precision :: own(3), sums(3), many(6)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  do call = 0, 49
    own = [rank, call, 1]
    many = 0
    if (rank == 1) many(1:6:2) = own
    if (mod(call + rank, 2) == 0) then
      call MPI_Allreduce(own, sums, 3, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
      call MPI_Bcast(many(1:6:2), 3, MPI_DOUBLE_PRECISION, 1, MPI_COMM_WORLD)
    else
      call MPI_Allreduce(own, sums, large, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
      call MPI_Bcast(own, large, MPI_DOUBLE_PRECISION, 1, MPI_COMM_WORLD)
      many(1:6:2) = own
    end if
    if (any(many(1:6:2) /= [1, call, 1])) call MPI_Abort(MPI_COMM_WORLD, 4)
    if (any(sums /= [1, 2 * call, 2])) call MPI_Abort(MPI_COMM_WORLD, 3)
  end do
  if (rank == 0) print *, 'all is right'
  call MPI_Finalize()
end program
