! Conditional allreduce for Fortran: see foretop_condar.h, whose names and meanings these are.
module foretop_condar
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: condar_init, condar_call, condar_free, condar_reason

  integer, parameter, public :: CONDAR_ANY = 0, CONDAR_NONNEGATIVE = 1, CONDAR_NONPOSITIVE = 2
  integer, parameter, public :: CONDAR_GREATER = 0, CONDAR_LESS = 1, CONDAR_EQUAL = 2
  integer, parameter, public :: CONDAR_REFUSED = -1, CONDAR_NO_HANDLE = -2, CONDAR_BAD_VALUE = -3
  integer, parameter, public :: CONDAR_VANISHED = -4, CONDAR_DISAGREEMENT = -5, CONDAR_NO_MPI = -6

  interface
    integer(c_int) function init_c(comm, op, sign, condition, constant, clusters) bind(C, name='condar_init_fortran')
      import
      integer(c_int), value :: comm, op, sign, condition
      real(c_double), value :: constant
      character(kind=c_char), intent(in) :: clusters(*)
    end function
    integer(c_int) function call_c(handle, value, verdict, result, is_exact) bind(C, name='condar_call')
      import
      integer(c_int), value :: handle
      real(c_double), value :: value
      integer(c_int), intent(inout) :: verdict, is_exact
      real(c_double), intent(inout) :: result
    end function
    integer(c_int) function free_c(handle) bind(C, name='condar_free')
      import
      integer(c_int), value :: handle
    end function
    type(c_ptr) function reason_c() bind(C, name='condar_reason')
      import
    end function
    integer(c_size_t) function length_c(text) bind(C, name='strlen')
      import
      type(c_ptr), value :: text
    end function
  end interface

contains

  ! Communicator and operation are the integers of mpif.h and module mpi; with mpi_f08, their MPI_VAL.
  integer function condar_init(comm, op, sign, condition, constant, clusters) result(handle)
    integer, intent(in) :: comm, op, sign, condition
    double precision, intent(in) :: constant
    character(*), intent(in), optional :: clusters
    if (present(clusters)) then
      handle = init_c(comm, op, sign, condition, constant, trim(clusters)//c_null_char)
    else
      handle = init_c(comm, op, sign, condition, constant, c_null_char)
    end if
  end function

  integer function condar_call(handle, value, verdict, result, is_exact) result(code)
    integer, intent(in) :: handle
    double precision, intent(in) :: value
    logical, intent(out) :: verdict, is_exact
    double precision, intent(out) :: result
    integer(c_int) :: verdict_c, is_exact_c
    verdict_c = 0
    is_exact_c = 0
    result = 0
    code = call_c(handle, value, verdict_c, result, is_exact_c)
    verdict = verdict_c /= 0
    is_exact = is_exact_c /= 0
  end function

  integer function condar_free(handle) result(code)
    integer, intent(in) :: handle
    code = free_c(handle)
  end function

  function condar_reason() result(text)
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    type(c_ptr) :: at
    integer :: letter
    at = reason_c()
    call c_f_pointer(at, letters, [length_c(at)])
    allocate (character(size(letters)) :: text)
    do letter = 1, size(letters)
      text(letter:letter) = letters(letter)
    end do
  end function
end module
