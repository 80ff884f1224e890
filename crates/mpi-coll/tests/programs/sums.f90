! Sums by the interfaces `mpi` and `mpi_f08`, in place and not.
module modern
  use mpi_f08
  implicit none
contains
  subroutine sum_and_tell(is_right)
    logical, intent(out) :: is_right
    double precision :: ours(3), theirs(3)
    integer :: rank, n_ranks
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, n_ranks)
    ours = rank + 1
    call MPI_Allreduce(ours, theirs, 3, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    is_right = all(theirs == n_ranks * (n_ranks + 1) / 2)
    call MPI_Bcast(ours, 3, MPI_DOUBLE_PRECISION, 1, MPI_COMM_WORLD)
    is_right = is_right .and. all(ours == 2)
  end subroutine
end module

program sums
  use mpi
  use modern, only: sum_and_tell
  implicit none
  integer :: error, rank, n_ranks, ours(2), theirs(2)
  logical :: is_right, is_modern_right
  call mpi_init(error)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, error)
  call mpi_comm_size(MPI_COMM_WORLD, n_ranks, error)
  ours = [rank, 1]
  call mpi_allreduce(ours, theirs, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  is_right = all(theirs == [n_ranks * (n_ranks - 1) / 2, n_ranks]) .and. error == MPI_SUCCESS
  call mpi_allreduce(MPI_IN_PLACE, ours, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  is_right = is_right .and. all(ours == theirs)
  ours = rank
  call mpi_bcast(ours, 2, MPI_INTEGER, 1, MPI_COMM_WORLD, error)
  is_right = is_right .and. all(ours == 1)
  call sum_and_tell(is_modern_right)
  if (.not. (is_right .and. is_modern_right)) call mpi_abort(MPI_COMM_WORLD, 3, error)
  if (rank == 0) print *, 'all sums are right'
  call mpi_finalize(error)
end program
