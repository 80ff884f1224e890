! Blocking calls by `use mpi_f08`, most without their error, with known answers.
program answers
    use mpi_f08
    implicit none
    integer :: rank, size, error, left, right, round, value, sum
    integer :: out(4), in(4), n
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: status, statuses(2)
    integer, allocatable :: all(:)
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    left = mod(rank + size - 1, size)
    right = mod(rank + 1, size)
    do round = 1, 5
        if (rank == 0) then
            call MPI_Send(round, 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD)
            call MPI_Recv(value, 1, MPI_INTEGER, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        else
            call MPI_Recv(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, status)
            call check(status%MPI_SOURCE == left .and. status%MPI_TAG == 3, 1)
            call MPI_Send(value, 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD)
        end if
        call check(value == round, 2)
    end do
    call MPI_Barrier(MPI_COMM_WORLD)
    out = rank
    call MPI_Irecv(in, 4, MPI_INTEGER, left, 4, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(out, 4, MPI_INTEGER, right, 4, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, statuses)
    call check(all_are(in, left) .and. statuses(1)%MPI_SOURCE == left, 3)
    call MPI_Irecv(in, 4, MPI_INTEGER, right, 5, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(out, 4, MPI_INTEGER, left, 5, MPI_COMM_WORLD, requests(2))
    do round = 1, 2
        call MPI_Waitany(2, requests, n, status)
        ! MPICH 4.0 counts from 0 here.
        call check(n >= 0 .and. n <= 2, 4)
    end do
    call check(all_are(in, right), 5)
    call MPI_Sendrecv(out, 4, MPI_INTEGER, right, 6, in, 4, MPI_INTEGER, left, 6, MPI_COMM_WORLD, status)
    call check(all_are(in, left) .and. status%MPI_SOURCE == left, 6)
    call MPI_Sendrecv_replace(out, 4, MPI_INTEGER, right, 7, left, 7, MPI_COMM_WORLD, status)
    call check(all_are(out, left) .and. status%MPI_SOURCE == left, 7)
    call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(sum == size * (size - 1) / 2, 8)
    sum = rank
    call MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(sum == size * (size - 1) / 2, 9)
    allocate (all(size))
    call MPI_Allgather(rank, 1, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(size) == size - 1, 10)
    call MPI_Isend(rank, 1, MPI_INTEGER, right, 8, MPI_COMM_WORLD, requests(1))
    call MPI_Probe(left, 8, MPI_COMM_WORLD, status)
    call MPI_Recv(value, 1, MPI_INTEGER, left, 8, MPI_COMM_WORLD, status)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)
    call check(value == left .and. error == MPI_SUCCESS, 11)
    call MPI_Barrier(MPI_COMM_WORLD)
    if (rank == 0) print *, 'all is right'
    call MPI_Finalize()
contains
    logical function all_are(values, expected)
        integer, intent(in) :: values(4), expected
        all_are = minval(values) == expected .and. maxval(values) == expected
    end function

    subroutine check(is_right, line)
        logical, intent(in) :: is_right
        integer, intent(in) :: line
        integer :: ignored
        if (is_right) return
        print *, 'rank', rank, 'is wrong in check', line
        call MPI_Abort(MPI_COMM_WORLD, 1, ignored)
    end subroutine
end program
