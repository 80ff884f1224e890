! FT's exchange: a matrix that is transposed by alltoall between transforms of its rows.
program ft
  use iso_c_binding
  use mpi
  use work_interface
  implicit none
  integer, parameter :: rows_of_rank = 4
  integer(c_int64_t), parameter :: prime = 1000003
  integer :: ierr, rank, ranks, steps, step, rows, n, i, j
  integer(c_int64_t), allocatable :: mine(:, :), whole(:, :)
  integer(c_int64_t) :: own, total
  double precision :: began, span
  logical :: is_right

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  steps = work_begin()
  rows = work_cut('ft'//c_null_char, rank, rows_of_rank, work_whole(ranks), ranks, ranks, 1)
  if (rows == 0) call give_up()
  call work_scale(work_whole(ranks), ranks)
  n = rows*ranks
  allocate (mine(n, rows))
  ! A column of the array is a row of the matrix.
  do j = 1, rows
    mine(:, j) = [(small_value(rank*rows + j, i, 6), i=1, n)]
  end do
  began = MPI_Wtime()
  do step = 1, steps
    call transform(mine)
    call work(rank)
    call transpose_shared(mine)
  end do
  span = MPI_Wtime() - began
  own = 0
  do j = 1, rows
    own = own + weighed(mine(:, j), rank*rows + j)
  end do
  call MPI_Reduce(own, total, 1, MPI_INTEGER8, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  is_right = .true.
  if (rank == 0) then
    allocate (whole(n, n))
    do j = 1, n
      whole(:, j) = [(small_value(j, i, 6), i=1, n)]
    end do
    do step = 1, steps
      call transform(whole)
      whole = transpose(whole)
    end do
    own = 0
    do j = 1, n
      own = own + weighed(whole(:, j), j)
    end do
    is_right = own == total
  end if
  ierr = told('ft', rank, is_right, total, span)
  i = ierr
  call MPI_Finalize(ierr)
  call exit(i)

contains

  ! Sums of a row up to each place: a stand-in for a transform that any place depends on.
  subroutine transform(part)
    integer(c_int64_t), intent(inout) :: part(:, :)
    integer :: r, c
    do r = 1, size(part, 2)
      do c = 2, size(part, 1)
        part(c, r) = modulo(part(c, r) + 3*part(c - 1, r), prime)
      end do
    end do
  end subroutine

  subroutine transpose_shared(part)
    integer(c_int64_t), intent(inout) :: part(n, rows)
    integer(c_int64_t) :: out(rows, rows, ranks), in(rows, rows, ranks)
    integer :: r
    do r = 1, ranks
      out(:, :, r) = transpose(part((r - 1)*rows + 1:r*rows, :))
    end do
    call MPI_Alltoall(out, rows*rows, MPI_INTEGER8, in, rows*rows, MPI_INTEGER8, MPI_COMM_WORLD, ierr)
    do r = 1, ranks
      part((r - 1)*rows + 1:r*rows, :) = in(:, :, r)
    end do
  end subroutine

  function weighed(of_row, number) result(weight)
    integer(c_int64_t), intent(in) :: of_row(:)
    integer, intent(in) :: number
    integer(c_int64_t) :: weight
    integer :: c
    weight = sum([(of_row(c)*(modulo(number*31 + c, 7) + 1), c=1, size(of_row))])
  end function
end program
