! Halves a value on each rank until the sum is no longer above a threshold, and asks what must be refused.
include 'foretop_condar.f90'

program condar
  use foretop_condar
  use mpi
  implicit none
  integer :: ierror, rank, handle, n_steps
  logical :: verdict, is_exact
  double precision :: value, result

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  handle = condar_init(MPI_COMM_WORLD, MPI_SUM, CONDAR_ANY, CONDAR_GREATER, 1d0, '0 1')
  if (handle /= CONDAR_REFUSED .or. index(condar_reason(), 'use a sum of values >= 0') == 0) error stop 'not refused'
  handle = condar_init(MPI_COMM_WORLD, MPI_SUM, CONDAR_NONNEGATIVE, CONDAR_GREATER, 1d0, '0 1')
  if (handle < 0) error stop 'refused'
  value = 1024
  n_steps = 0
  verdict = .true.
  do while (verdict)
    if (condar_call(handle, value, verdict, result, is_exact) /= 0) error stop 'no answer'
    if (verdict .neqv. result > 1) error stop 'the value does not fit the verdict'
    value = value / 2
    n_steps = n_steps + 1
  end do
  ! 1024 is halved 11 times to 0.5, of which there are two.
  if (n_steps /= 12 .or. .not. is_exact .or. result /= 1d0) error stop 'wrong'
  if (condar_free(handle) /= 0) error stop 'not freed'
  ! The same below 0.
  handle = condar_init(MPI_COMM_WORLD, MPI_SUM, CONDAR_NONPOSITIVE, CONDAR_LESS, -1d0, '0 1')
  if (handle < 0) error stop 'refused'
  if (condar_call(handle, -4d0, verdict, result, is_exact) /= 0 .or. .not. verdict) error stop 'not below'
  if (condar_call(handle, -0.5d0, verdict, result, is_exact) /= 0 .or. verdict .or. result /= -1d0) error stop 'below'
  if (condar_free(handle) /= 0) error stop 'not freed'
  if (rank == 0) print '(a)', 'answers are right'
  call MPI_Finalize(ierror)
end program
