! CG's exchange: sums along rows of a square of ranks by pairs that are ever farther apart, a transposition,
! and scalar products in the same pairs.
program cg
  use iso_c_binding
  use mpi
  use work_interface
  implicit none
  integer, parameter :: width_of_rank = 200
  integer(c_int64_t), parameter :: prime = 1000003
  integer :: ierr, rank, ranks, steps, step, side, side_whole, width, row, column, partner, distance, i
  integer(c_int64_t) :: product, total
  integer(c_int64_t), allocatable :: x(:), y(:), other(:), whole(:, :), next(:, :)
  double precision :: began, span
  logical :: is_right

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  side = nint(sqrt(real(ranks)))
  if (side*side /= ranks .or. iand(side, side - 1) /= 0) then
    if (rank == 0) print '(a,i0,a)', 'cg: ', ranks, ' ranks are no power of four'
    call MPI_Finalize(ierr)
    call exit(2)
  end if
  steps = work_begin()
  side_whole = nint(sqrt(real(work_whole(ranks))))
  if (side_whole*side_whole /= work_whole(ranks)) then
    if (rank == 0) write (0, '(a,i0,a)') 'cg: whole=', work_whole(ranks), ' is no square: use 1, 4, 9, 16 ...'
    call give_up()
  end if
  width = work_cut('cg'//c_null_char, rank, width_of_rank, side_whole, side, ranks, 1)
  if (width == 0) call give_up()
  call work_scale(work_whole(ranks), ranks)
  allocate (x(width), y(width), other(width))
  row = rank/side
  column = modulo(rank, side)
  partner = column*side + row
  ! Rank (row, column) has block (row, column) of the matrix, and part `column` of the vector.
  x = [(small_value(column*width + i, 0, 5), i=1, width)]
  product = 0
  began = MPI_Wtime()
  do step = 1, steps
    y = times(row, column, x)
    call work(rank)
    distance = 1
    do while (distance < side)
      call exchange(y, other, row*side + ieor(column, distance), 1)
      y = modulo(y + other, prime)
      distance = 2*distance
    end do
    ! Part `row` of the result is what the transposed rank goes on with.
    call exchange(y, x, partner, 2)
    product = modulo(sum(x*x), prime)
    distance = 1
    do while (distance < side)
      call exchange_one(product, total, row*side + ieor(column, distance))
      product = modulo(product + total, prime)
      distance = 2*distance
    end do
    x = modulo(x + product, prime)
    call work(rank)
  end do
  span = MPI_Wtime() - began
  total = modulo(sum(x*[(int(i, c_int64_t), i=1, width)]), prime)
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD, ierr)
  is_right = .true.
  if (rank == 0) is_right = total == alone()
  ierr = told('cg', rank, is_right, total, span)
  i = ierr
  call MPI_Finalize(ierr)
  call exit(i)

contains

  ! A block whose rows differ in few terms.
  function times(of_row, of_column, vector) result(result)
    integer, intent(in) :: of_row, of_column
    integer(c_int64_t), intent(in) :: vector(width)
    integer(c_int64_t) :: result(width), all
    integer :: k
    all = modulo(sum(vector), prime)
    do k = 1, width
      result(k) = modulo((of_row + 2*of_column + 1)*all + k*vector(width + 1 - k), prime)
    end do
  end function

  subroutine exchange(out, in, whom, tag)
    integer(c_int64_t), intent(in) :: out(width)
    integer(c_int64_t), intent(out) :: in(width)
    integer, intent(in) :: whom, tag
    integer :: request
    call MPI_Irecv(in, width, MPI_INTEGER8, whom, tag, MPI_COMM_WORLD, request, ierr)
    call MPI_Send(out, width, MPI_INTEGER8, whom, tag, MPI_COMM_WORLD, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  end subroutine

  subroutine exchange_one(out, in, whom)
    integer(c_int64_t), intent(in) :: out
    integer(c_int64_t), intent(out) :: in
    integer, intent(in) :: whom
    integer :: request
    call MPI_Irecv(in, 1, MPI_INTEGER8, whom, 3, MPI_COMM_WORLD, request, ierr)
    call MPI_Send(out, 1, MPI_INTEGER8, whom, 3, MPI_COMM_WORLD, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  end subroutine

  ! The same by one process.
  function alone() result(sums)
    integer(c_int64_t) :: sums, scalar
    integer :: s, r, c, k
    allocate (whole(width, 0:side - 1), next(width, 0:side - 1))
    do c = 0, side - 1
      whole(:, c) = [(small_value(c*width + k, 0, 5), k=1, width)]
    end do
    do s = 1, steps
      do r = 0, side - 1
        next(:, r) = 0
        do c = 0, side - 1
          next(:, r) = modulo(next(:, r) + times(r, c, whole(:, c)), prime)
        end do
      end do
      scalar = modulo(sum([(modulo(sum(next(:, c)*next(:, c)), prime), c=0, side - 1)]), prime)
      whole = modulo(next + scalar, prime)
    end do
    sums = side*sum([(modulo(sum(whole(:, c)*[(int(k, c_int64_t), k=1, width)]), prime), c=0, side - 1)])
  end function
end program
