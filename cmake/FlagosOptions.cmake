# SPDX-License-Identifier: Apache-2.0
# What a user may choose, checked.  pyproject.toml hands the environment variables of
# the same names to CMake; MUSA_HOME arrives as FLAGOS_MUSA_HOME.
include_guard(GLOBAL)

set(FLAGOS_ACCELERATOR musa CACHE STRING "Which accelerator to build for")
set(FLAGOS_MUSA_HOME "$ENV{MUSA_HOME}" CACHE PATH
    "A MUSA toolkit; empty: /usr/local/musa if it exists, else the portable one")
option(FLAGOS_BUILD_VENDOR "Build the native operators" ON)
option(FLAGOS_BUILD_KERNELS "Build device kernels with the toolkit's mcc" ON)
option(FLAGOS_BUILD_FLAGGEMS "Build the routes to FlagGems" ON)
option(FLAGOS_BUILD_BOXING "CUDA boxing (forced OFF)" OFF)
option(FLAGOS_BUILD_FLAGGEMS_CPP "FlagGems' C++ runtime (forced OFF)" OFF)
option(FLAGOS_BUILD_TESTS "Build the conformance suite and the C++ unit tests" OFF)
# An installer's newer compiler may know new warnings: they must not stop an install.
if(SKBUILD)
  set(_werror OFF)
else()
  set(_werror ON)
endif()
option(FLAGOS_WERROR "Treat warnings as errors" ${_werror})

if(NOT FLAGOS_ACCELERATOR STREQUAL "musa")
  flagos_error("FLAGOS_ACCELERATOR=${FLAGOS_ACCELERATOR} does not exist: the only accelerator is musa.")
endif()
foreach(switch BUILD_VENDOR BUILD_KERNELS BUILD_FLAGGEMS BUILD_BOXING
               BUILD_FLAGGEMS_CPP BUILD_TESTS WERROR)
  flagos_check_switch(FLAGOS_${switch})
endforeach()

# flagos_force_off(switch why): asked for or not, it stays off, and says so.
function(flagos_force_off switch why)
  if(${switch})
    message(STATUS "${switch} forced OFF: ${why}")
    set(${switch} OFF CACHE BOOL "" FORCE)
  endif()
endfunction()
flagos_force_off(FLAGOS_BUILD_BOXING "the MUSA toolkit exports no CUDA symbols")
flagos_force_off(FLAGOS_BUILD_FLAGGEMS_CPP
                 "FlagGems' C++ runtime is not built for MUSA")

if(FLAGOS_BUILD_KERNELS AND NOT FLAGOS_BUILD_VENDOR)
  set(FLAGOS_BUILD_KERNELS OFF) # their operators are among the native ones
endif()

if(NOT FLAGOS_MUSA_HOME AND IS_DIRECTORY /usr/local/musa)
  set(FLAGOS_MUSA_HOME /usr/local/musa)
endif()

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(FLAGOS_CCACHE ccache)
  if(FLAGOS_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${FLAGOS_CCACHE}")
  endif()
endif()
