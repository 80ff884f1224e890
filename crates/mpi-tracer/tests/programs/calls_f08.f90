! The same calls as in calls.f and calls.f90, through the module of Fortran 2008, whose calls need no error.
program calls
  use mpi_f08
  implicit none
  integer :: rank
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  double precision :: many(8), other(8)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Pcontrol(7)
  if (rank == 0) then
    call MPI_Send(many, 3, MPI_DOUBLE_PRECISION, 1, 5, MPI_COMM_WORLD)
  else
    call MPI_Recv(other, 8, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end if
  call MPI_Irecv(other, 2, MPI_REAL, MPI_PROC_NULL, 4, MPI_COMM_WORLD, request)
  call MPI_Wait(request, status)
  call MPI_Send_init(many, 2, MPI_REAL, MPI_PROC_NULL, 9, MPI_COMM_WORLD, request)
  call MPI_Start(request)
  call MPI_Wait(request, status)
  call MPI_Sendrecv(many, 1, MPI_REAL, rank, 2, other, 8, MPI_REAL, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call MPI_Allreduce(MPI_IN_PLACE, many, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Barrier(MPI_COMM_SELF)
  call MPI_Finalize()
end program
