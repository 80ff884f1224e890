! What MPI libraries have of their own in Fortran, checked by each rank: callbacks, constants with addresses, statuses.
module callbacks
    use mpi
    implicit none
    integer :: n_errors = 0
contains
    subroutine copied(comm, keyval, extra, value, copy, flag, error)
        integer :: comm, keyval, error
        integer(MPI_ADDRESS_KIND) :: extra, value, copy
        logical :: flag
        copy = value + extra
        flag = .true.
        error = MPI_SUCCESS
    end subroutine

    subroutine largest(from, into, length, datatype)
        integer :: length, datatype, from(length), into(length)
        call check(datatype == MPI_INTEGER, 'the type of an operation')
        into = max(from, into)
    end subroutine

    subroutine note(comm, code)
        integer :: comm, code
        call check(comm == MPI_COMM_WORLD .and. code /= MPI_SUCCESS, 'what a handler is told')
        n_errors = n_errors + 1
    end subroutine

    subroutine check(truth, what)
        logical, intent(in) :: truth
        character(*), intent(in) :: what
        integer :: error
        if (truth) return
        print *, 'wrong: ', what
        call MPI_Abort(MPI_COMM_WORLD, 1, error)
    end subroutine
end module

module later
    use mpi_f08
    implicit none
contains
    ! The same in the binding of Fortran 2008, where handles and statuses have types.
    subroutine check_later(rank, n, left, right, is_well)
        integer, intent(in) :: rank, n, left, right
        logical, intent(out) :: is_well
        type(MPI_Comm) :: twin
        type(MPI_Status) :: status
        type(MPI_Request) :: requests(2)
        type(MPI_Datatype) :: pair
        integer :: total, numbers(2), got(2), n_got
        total = rank
        call MPI_Comm_dup(MPI_COMM_WORLD, twin)
        call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, twin)
        is_well = total == n * (n - 1) / 2
        call MPI_Type_contiguous(2, MPI_INTEGER, pair)
        call MPI_Type_commit(pair)
        numbers = [rank, 7]
        call MPI_Irecv(got, 1, pair, MPI_ANY_SOURCE, 4, twin, requests(1))
        call MPI_Isend(numbers, 1, pair, right, 4, twin, requests(2))
        call MPI_Wait(requests(1), status)
        call MPI_Wait(requests(2), MPI_STATUS_IGNORE)
        call MPI_Get_count(status, pair, n_got)
        is_well = is_well .and. all(got == [left, 7]) .and. status%MPI_SOURCE == left .and. n_got == 1
        is_well = is_well .and. requests(1) == MPI_REQUEST_NULL .and. twin /= MPI_COMM_WORLD
        call MPI_Type_free(pair)
        call MPI_Comm_free(twin)
    end subroutine
end module

program faces
    use mpi
    use callbacks
    use later, only: check_later
    implicit none
    integer :: error, rank, n, left, right, op, keyval, twin, handler, total, code, status(MPI_STATUS_SIZE), requests(2), got(2)
    integer(MPI_ADDRESS_KIND) :: value, place
    integer :: number, datatype
    logical :: flag, is_well
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, n, error)
    left = mod(rank + n - 1, n)
    right = mod(rank + 1, n)

    call MPI_Op_create(largest, .true., op, error)
    total = rank
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, op, MPI_COMM_WORLD, error)
    call check(total == n - 1, 'an operation of its own')
    call MPI_Op_free(op, error)

    call MPI_Comm_create_keyval(copied, MPI_COMM_NULL_DELETE_FN, keyval, 3_MPI_ADDRESS_KIND, error)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, 39_MPI_ADDRESS_KIND, error)
    call MPI_Comm_dup(MPI_COMM_WORLD, twin, error)
    call MPI_Comm_get_attr(twin, keyval, value, flag, error)
    call check(flag .and. value == 42, 'an attribute that is copied')
    call MPI_Comm_get_attr(twin, MPI_TAG_UB, value, flag, error)
    call check(flag .and. value >= 32767, 'the largest tag')

    call MPI_Comm_create_errhandler(note, handler, error)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler, error)
    call MPI_Send(total, 1, MPI_INTEGER, n + 7, 0, MPI_COMM_WORLD, code)
    call check(n_errors == 1 .and. code /= MPI_SUCCESS, 'a handler of errors')

    call MPI_Irecv(got(1), 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, twin, requests(1), error)
    call MPI_Isend(rank, 1, MPI_INTEGER, right, 1, twin, requests(2), error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    call check(got(1) == left .and. all(requests == MPI_REQUEST_NULL), 'requests')
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, MPI_PROC_NULL, 0, got, 1, MPI_INTEGER, MPI_PROC_NULL, 0, twin, status, error)
    call check(status(MPI_SOURCE) == MPI_PROC_NULL .and. status(MPI_TAG) == MPI_ANY_TAG, 'a status')

    number = rank
    call MPI_Get_address(number, place, error)
    call MPI_Type_create_hindexed(1, [1], [place], MPI_INTEGER, datatype, error)
    call MPI_Type_commit(datatype, error)
    call MPI_Bcast(MPI_BOTTOM, 1, datatype, 1, twin, error)
    call check(number == 1, 'an absolute address')
    call MPI_Type_free(datatype, error)
    call MPI_Comm_free(twin, error)

    call check_later(rank, n, left, right, is_well)
    call check(is_well, 'the binding of Fortran 2008')
    call MPI_Finalize(error)
    print '(a)', 'all is well'
end program
