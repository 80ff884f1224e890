! The same calls as in calls.f and calls_f08.f90, through the module of Fortran 90.
program calls
  use mpi
  implicit none
  integer :: rank, ierror, request, status(MPI_STATUS_SIZE)
  double precision :: many(8), other(8)
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Pcontrol(7)
  if (rank == 0) then
    call MPI_Send(many, 3, MPI_DOUBLE_PRECISION, 1, 5, MPI_COMM_WORLD, ierror)
  else
    call MPI_Recv(other, 8, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  end if
  call MPI_Irecv(other, 2, MPI_REAL, MPI_PROC_NULL, 4, MPI_COMM_WORLD, request, ierror)
  call MPI_Wait(request, status, ierror)
  call MPI_Send_init(many, 2, MPI_REAL, MPI_PROC_NULL, 9, MPI_COMM_WORLD, request, ierror)
  call MPI_Start(request, ierror)
  call MPI_Wait(request, status, ierror)
  call MPI_Sendrecv(many, 1, MPI_REAL, rank, 2, other, 8, MPI_REAL, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call MPI_Allreduce(MPI_IN_PLACE, many, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Barrier(MPI_COMM_SELF, ierror)
  call MPI_Finalize(ierror)
end program
