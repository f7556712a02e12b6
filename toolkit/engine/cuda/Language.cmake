# SPDX-License-Identifier: Apache-2.0
# The CUDA language, switched on in the folder that makes the libraries.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  # Code for these, and for later ones what the driver can compile.
  set(CMAKE_CUDA_ARCHITECTURES "80-real;90" CACHE STRING "CUDA architectures")
endif()
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  musa_error("The CUDA engine needs nvcc, which was not found: put it on PATH, or set CMAKE_CUDA_COMPILER.")
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
# One libcudart in the process: torch's, where torch has loaded one.
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
