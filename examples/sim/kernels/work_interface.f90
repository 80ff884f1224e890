! work.h for Fortran.
module work_interface
  use iso_c_binding
  implicit none
  interface
    subroutine work_set(mean_ns) bind(c)
      import
      integer(c_long), value :: mean_ns
    end subroutine
    subroutine work_word(word) bind(c)
      import
      character(c_char), intent(in) :: word(*)
    end subroutine
    function work_whole(ranks) bind(c)
      import
      integer(c_int), value :: ranks
      integer(c_int) :: work_whole
    end function
    function work_times() bind(c)
      import
      integer(c_int) :: work_times
    end function
    function work_cut(name, rank, size, whole, parts, ranks, grows) bind(c)
      import
      character(c_char), intent(in) :: name(*)
      integer(c_int), value :: rank, size, whole, parts, ranks, grows
      integer(c_int) :: work_cut
    end function
    subroutine work_scale(of, by) bind(c)
      import
      integer(c_int), value :: of, by
    end subroutine
    subroutine work(rank) bind(c)
      import
      integer(c_int), value :: rank
    end subroutine
    function work_value(a, b, c) bind(c)
      import
      integer(c_int64_t), value :: a, b, c
      integer(c_int64_t) :: work_value
    end function
  end interface
contains
  ! Reads what all kernels take: STEPS WORK_NS [sleep|spin] [whole=R] [times=K].
  function work_begin() result(steps)
    integer :: steps, i
    integer(c_long) :: mean_ns
    character(len=32) :: word
    steps = 3
    mean_ns = 0
    call get_command_argument(1, word)
    if (word /= '') read (word, *) steps
    call get_command_argument(2, word)
    if (word /= '') read (word, *) mean_ns
    call work_set(mean_ns)
    do i = 3, command_argument_count()
      call get_command_argument(i, word)
      call work_word(trim(word)//c_null_char)
    end do
  end function

  ! Ends a kernel whose sizes cannot be cut up, with status 2.
  subroutine give_up()
    use mpi
    integer :: ierr
    call MPI_Finalize(ierr)
    call exit(2)
  end subroutine

  ! A small number that stands for a value: sums of these stay far below 2**63.
  function small_value(a, b, c) result(small)
    integer, intent(in) :: a, b, c
    integer(c_int64_t) :: small
    small = modulo(work_value(int(a, c_int64_t), int(b, c_int64_t), int(c, c_int64_t)), 1009_c_int64_t)
  end function

  ! Prints the result on rank 0, and is 0 where it is right.
  function told(name, rank, is_right, total, span) result(status)
    use mpi
    character(len=*), intent(in) :: name
    integer, intent(in) :: rank
    logical, intent(in) :: is_right
    integer(c_int64_t), intent(in) :: total
    double precision, intent(in) :: span
    double precision :: longest
    character(len=24) :: seconds
    integer :: status, ierr
    call MPI_Reduce(span, longest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, ierr)
    write (seconds, '(f24.6)') longest
    if (rank == 0) print '(a,": ",a,", sum ",z16.16,", ",a," s")', name, trim(merge('verified', 'WRONG   ', is_right)), &
      total, trim(adjustl(seconds))
    status = merge(0, 1, is_right)
  end function
end module
