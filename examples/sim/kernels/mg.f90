! MG's exchange: edges of ever coarser grids, on which ranks drop out and neighbours are farther apart, and back.
program mg
  use iso_c_binding
  use mpi
  use work_interface
  implicit none
  integer, parameter :: points_of_rank = 64
  integer :: ierr, rank, ranks, ranks_whole, points, steps, step, i
  integer(c_int64_t) :: own, total
  integer(c_int64_t), allocatable :: mine(:), whole(:)
  double precision :: began, span
  logical :: is_right

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  if (iand(ranks, ranks - 1) /= 0) then
    if (rank == 0) print '(a,i0,a)', 'mg: ', ranks, ' ranks are no power of two'
    call MPI_Finalize(ierr)
    call exit(2)
  end if
  steps = work_begin()
  ranks_whole = work_whole(ranks)
  points = work_cut('mg'//c_null_char, rank, points_of_rank, ranks_whole, ranks, ranks, 1)
  if (points == 0) call give_up()
  if (iand(points, points - 1) /= 0) then
    if (rank == 0) write (0, '(a,i0,a)') 'mg: ', points, ' points a rank are no power of two: use powers of two for whole and times'
    call give_up()
  end if
  allocate (mine(0:points - 1))
  mine = [(small_value(rank*points + i, 0, 4), i=0, points - 1)]
  began = MPI_Wtime()
  do step = 1, steps
    call cycle_shared(mine)
  end do
  span = MPI_Wtime() - began
  own = sum([(mine(i)*(modulo(rank*points + i, 7) + 1), i=0, points - 1)])
  call MPI_Reduce(own, total, 1, MPI_INTEGER8, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  is_right = .true.
  if (rank == 0) then
    allocate (whole(0:ranks*points - 1))
    whole = [(small_value(i, 0, 4), i=0, ranks*points - 1)]
    do step = 1, steps
      call cycle_alone(whole, size(whole))
    end do
    is_right = total == sum([(whole(i)*(modulo(i, 7) + 1), i=0, size(whole) - 1)])
  end if
  ierr = told('mg', rank, is_right, total, span)
  i = ierr
  call MPI_Finalize(ierr)
  call exit(i)

contains

  ! Down to one point for all ranks, and up again. A level's points are those of the level above at even places,
  ! mixed with their neighbours.
  recursive subroutine cycle_level(fine, n, stride)
    integer, intent(in) :: n, stride
    integer(c_int64_t), intent(inout) :: fine(0:n - 1)
    integer(c_int64_t) :: left, right
    integer(c_int64_t) :: coarse(0:max(n/2, 1) - 1)
    integer :: k
    if (stride > ranks) return
    ! Ranks of the whole and of this run that are on this level share its work.
    call work_scale(min(ranks_whole, n*(ranks/stride)), ranks/stride)
    call edges(fine(0), fine(n - 1), left, right, stride)
    call work(rank)
    fine = smoothed(fine, n, left, right)
    if (n > 1) then
      coarse = [(fine(2*k), k=0, n/2 - 1)]
      call cycle_level(coarse, n/2, stride)
      do k = 0, n/2 - 1
        fine(2*k) = coarse(k)
      end do
    else if (stride < ranks .and. modulo(rank, 2*stride) == 0) then
      call cycle_level(fine, 1, 2*stride)
    end if
    call work_scale(min(ranks_whole, n*(ranks/stride)), ranks/stride)
    call edges(fine(0), fine(n - 1), left, right, stride)
    call work(rank)
    fine = smoothed(fine, n, left, right)
  end subroutine

  subroutine cycle_shared(fine)
    integer(c_int64_t), intent(inout) :: fine(0:points - 1)
    call cycle_level(fine, points, 1)
  end subroutine

  ! With the ranks that are on this level as well, `stride` apart.
  subroutine edges(first, last, left, right, stride)
    integer(c_int64_t), intent(in) :: first, last
    integer(c_int64_t), intent(out) :: left, right
    integer, intent(in) :: stride
    integer :: before, after, requests(4)
    before = modulo(rank - stride, ranks)
    after = modulo(rank + stride, ranks)
    call MPI_Irecv(left, 1, MPI_INTEGER8, before, 1, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Irecv(right, 1, MPI_INTEGER8, after, 2, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Isend(last, 1, MPI_INTEGER8, after, 1, MPI_COMM_WORLD, requests(3), ierr)
    call MPI_Isend(first, 1, MPI_INTEGER8, before, 2, MPI_COMM_WORLD, requests(4), ierr)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
  end subroutine

  function smoothed(fine, n, left, right) result(smooth)
    integer, intent(in) :: n
    integer(c_int64_t), intent(in) :: fine(0:n - 1), left, right
    integer(c_int64_t) :: smooth(0:n - 1), wide(-1:n)
    wide(-1) = left
    wide(0:n - 1) = fine
    wide(n) = right
    smooth = modulo(wide(-1:n - 2) + 2*wide(0:n - 1) + wide(1:n), 1000003_c_int64_t)
  end function

  ! The same by one process.
  recursive subroutine cycle_alone(fine, n)
    integer, intent(in) :: n
    integer(c_int64_t), intent(inout) :: fine(0:n - 1)
    integer(c_int64_t) :: coarse(0:max(n/2, 1) - 1)
    integer :: k
    fine = smoothed(fine, n, fine(n - 1), fine(0))
    if (n > 1) then
      coarse = [(fine(2*k), k=0, n/2 - 1)]
      call cycle_alone(coarse, n/2)
      do k = 0, n/2 - 1
        fine(2*k) = coarse(k)
      end do
    end if
    fine = smoothed(fine, n, fine(n - 1), fine(0))
  end subroutine
end program
