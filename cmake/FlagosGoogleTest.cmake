# SPDX-License-Identifier: Apache-2.0
# flagos_googletest(): targets GTest::gtest, GTest::gmock and GTest::gtest_main, from the
# distribution's sources (so that they carry the tests' own flags, sanitizers included)
# or from an installed package.
include_guard(GLOBAL)

if(DEFINED ENV{FLAGOS_GOOGLETEST})
  set(_googletest "$ENV{FLAGOS_GOOGLETEST}")
else()
  set(_googletest /usr/src/googletest)
endif()
set(FLAGOS_GOOGLETEST "${_googletest}" CACHE PATH "GoogleTest's sources")

# flagos_googletest_library(name source include): one library of the source tree.
function(flagos_googletest_library name source)
  add_library(${name} STATIC EXCLUDE_FROM_ALL "${FLAGOS_GOOGLETEST}/${source}")
  add_library(GTest::${name} ALIAS ${name})
  target_include_directories(${name}
    SYSTEM PUBLIC "${FLAGOS_GOOGLETEST}/googletest/include"
                  "${FLAGOS_GOOGLETEST}/googlemock/include"
    PRIVATE "${FLAGOS_GOOGLETEST}/googletest" "${FLAGOS_GOOGLETEST}/googlemock")
  target_compile_features(${name} PUBLIC cxx_std_17)
  target_link_libraries(${name} PUBLIC Threads::Threads ${ARGN})
endfunction()

function(flagos_googletest)
  if(TARGET GTest::gtest_main)
    return()
  endif()
  set(THREADS_PREFER_PTHREAD_FLAG ON)
  find_package(Threads REQUIRED GLOBAL)
  if(EXISTS "${FLAGOS_GOOGLETEST}/googletest/src/gtest-all.cc")
    flagos_googletest_library(gtest googletest/src/gtest-all.cc)
    flagos_googletest_library(gmock googlemock/src/gmock-all.cc gtest)
    flagos_googletest_library(gtest_main googletest/src/gtest_main.cc gtest)
    return()
  endif()
  find_package(GTest QUIET GLOBAL)
  if(NOT GTest_FOUND)
    message(FATAL_ERROR "The C++ tests need GoogleTest and ${FLAGOS_GOOGLETEST} does "
      "not exist: run `apt-get install libgtest-dev`, or give FLAGOS_GOOGLETEST the "
      "folder of its sources.")
  endif()
endfunction()
