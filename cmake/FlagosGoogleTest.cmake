# SPDX-License-Identifier: Apache-2.0
# flagos_googletest(): targets GTest::gtest_main and GTest::gmock from the sources of the
# distribution (built with the tests' own flags) or from an installed GTest package.
include_guard(GLOBAL)

set(FLAGOS_GOOGLETEST "/usr/src/googletest" CACHE PATH "GoogleTest's sources")

macro(flagos_googletest)
  if(NOT TARGET GTest::gtest_main)
    if(EXISTS "${FLAGOS_GOOGLETEST}/CMakeLists.txt")
      set(INSTALL_GTEST OFF CACHE BOOL "" FORCE)
      set(CMAKE_POLICY_VERSION_MINIMUM 3.5)
      set(CMAKE_WARN_DEPRECATED OFF)
      add_subdirectory("${FLAGOS_GOOGLETEST}" "${CMAKE_BINARY_DIR}/googletest"
                       EXCLUDE_FROM_ALL SYSTEM)
      unset(CMAKE_POLICY_VERSION_MINIMUM)
      unset(CMAKE_WARN_DEPRECATED)
      foreach(_t gtest gtest_main gmock)
        if(NOT TARGET GTest::${_t})
          add_library(GTest::${_t} ALIAS ${_t})
        endif()
        set_target_properties(${_t} PROPERTIES CXX_VISIBILITY_PRESET default)
      endforeach()
    else()
      find_package(GTest QUIET)
      if(NOT GTest_FOUND)
        message(FATAL_ERROR "The tests need GoogleTest, and ${FLAGOS_GOOGLETEST} does not exist: "
          "install it (`apt-get install libgtest-dev`, or give FLAGOS_GOOGLETEST its source folder).")
      endif()
    endif()
  endif()
endmacro()
