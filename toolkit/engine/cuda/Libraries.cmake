# SPDX-License-Identifier: Apache-2.0
# Targets musa_cublaslt and musa_cudnn: cuBLASLt and cuDNN 9, linked by SONAME, so that
# a process in which a CUDA torch has loaded them already goes on with those.
#   MUSA_CUBLAS_ROOT, MUSA_CUDNN_ROOT  folders to look in first: a prefix with include/
#                     and lib/, or a site-packages folder that holds nvidia/; default:
#                     the environment's FLAGOS_CUDA_LIBRARIES
#   MUSA_CUDA_PYTHON  the Python whose wheels are looked through last (default: the one
#                     that the build uses)
# musa_link_cuda_libraries(target): link both, DT_RPATH to where they were found.
include_guard(GLOBAL)
find_package(CUDAToolkit REQUIRED)
set(MUSA_CUBLAS_ROOT "$ENV{FLAGOS_CUDA_LIBRARIES}" CACHE PATH "folder with cublasLt.h and libcublasLt")
set(MUSA_CUDNN_ROOT "$ENV{FLAGOS_CUDA_LIBRARIES}" CACHE PATH "folder with cudnn.h and libcudnn.so.9")
find_package(Python REQUIRED COMPONENTS Interpreter)
set(MUSA_CUDA_PYTHON "${Python_EXECUTABLE}" CACHE FILEPATH
    "Python whose nvidia-* wheels serve where the CUDA toolkit has no cuBLAS or cuDNN")

# Wheels lie in one of the interpreter's folders, those of a CUDA torch beside it.
execute_process(
  COMMAND "${MUSA_CUDA_PYTHON}" -c "import os, sys; print(';'.join(p for p in sys.path \
if os.path.isdir(os.path.join(p, 'nvidia'))))"
  OUTPUT_VARIABLE _sites OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)

# Folders that hold include/ and lib/, by what `root` is.
function(_musa_cuda_prefixes out root)
  set(prefixes "${root}")
  foreach(wheel ${ARGN})
    list(APPEND prefixes "${root}/nvidia/${wheel}" "${root}/${wheel}")
  endforeach()
  set(${out} "${prefixes}" PARENT_SCOPE)
endfunction()

# Target `name` from the first folder that has both the header and the library.
function(_musa_cuda_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TITLE;HEADER;SONAME;ROOT;WHEEL" "FOLDERS")
  set(prefixes)
  set(root "${${arg_ROOT}}")
  if(root)
    _musa_cuda_prefixes(prefixes "${root}" ${arg_FOLDERS})
  else()
    list(APPEND prefixes "${CUDAToolkit_LIBRARY_ROOT}" "${CUDAToolkit_TARGET_DIR}" /usr)
    foreach(site ${_sites})
      _musa_cuda_prefixes(more "${site}" ${arg_FOLDERS})
      list(APPEND prefixes ${more})
    endforeach()
  endif()
  set(libs lib64 lib targets/x86_64-linux/lib lib/${CMAKE_LIBRARY_ARCHITECTURE})
  list(REMOVE_ITEM prefixes "")
  foreach(prefix ${prefixes})
    unset(include)
    unset(library)
    find_path(include ${arg_HEADER} NO_CACHE NO_DEFAULT_PATH PATHS "${prefix}"
              PATH_SUFFIXES include include/${CMAKE_LIBRARY_ARCHITECTURE}
                            targets/x86_64-linux/include)
    find_file(library ${arg_SONAME} NO_CACHE NO_DEFAULT_PATH PATHS "${prefix}"
              PATH_SUFFIXES ${libs})
    if(include AND library)
      break()
    endif()
  endforeach()
  if(NOT include OR NOT library)
    set(where "the CUDA toolkit and the wheels of ${MUSA_CUDA_PYTHON}")
    if(root)
      set(where "${root}")
    endif()
    musa_error("${arg_TITLE} (${arg_HEADER} and ${arg_SONAME}) is not in ${where}: \
`pip install --no-deps ${arg_WHEEL}`, or set ${arg_ROOT} or the environment variable FLAGOS_CUDA_LIBRARIES.")
  endif()
  message(STATUS "${arg_TITLE}: ${library}")
  add_library(${name} SHARED IMPORTED GLOBAL)
  set_target_properties(${name} PROPERTIES
    IMPORTED_LOCATION "${library}" IMPORTED_SONAME "${arg_SONAME}")
  target_include_directories(${name} SYSTEM INTERFACE "${include}")
endfunction()

set(_cuda ${CUDAToolkit_VERSION_MAJOR})
set(_cublas_wheel nvidia-cublas)
if(_cuda LESS 13)
  set(_cublas_wheel nvidia-cublas-cu${_cuda})
endif()
_musa_cuda_library(musa_cublaslt
  TITLE cuBLASLt HEADER cublasLt.h SONAME libcublasLt.so.${_cuda}
  ROOT MUSA_CUBLAS_ROOT
  WHEEL ${_cublas_wheel} FOLDERS cu${_cuda} cublas)
_musa_cuda_library(musa_cudnn
  TITLE "cuDNN 9" HEADER cudnn.h SONAME libcudnn.so.9
  ROOT MUSA_CUDNN_ROOT
  WHEEL nvidia-cudnn-cu${_cuda} FOLDERS cudnn)

function(musa_link_cuda_libraries target)
  foreach(library musa_cublaslt musa_cudnn)
    target_link_libraries(${target} PRIVATE ${library})
    get_target_property(file ${library} IMPORTED_LOCATION)
    get_filename_component(folder "${file}" DIRECTORY)
    set_property(TARGET ${target} APPEND PROPERTY INSTALL_RPATH "${folder}")
  endforeach()
endfunction()
