! As cancel.c, with one receive that is called off.
program cancel
    use mpi
    implicit none
    integer :: rank, request, word, at, error
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    if (rank == 0) then
        call MPI_Irecv(word, 1, MPI_INTEGER, 1, 7, MPI_COMM_WORLD, request, error)
        call MPI_Cancel(request, error)
        call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    end if
    call MPI_Barrier(MPI_COMM_WORLD, error)
    do at = 1, 6
        if (rank == 1) call MPI_Send(at, 1, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, error)
        if (rank == 0) call MPI_Recv(word, 1, MPI_INTEGER, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    end do
    call MPI_Finalize(error)
end program
