# SPDX-License-Identifier: Apache-2.0
# GoogleTest and flagos_cpp_test(name source...): a test program on the C++ core,
# which finds the core, the toolkit and torch without any environment variable.
include_guard(GLOBAL)
include(FlagosGoogleTest)
flagos_googletest()

function(flagos_cpp_test name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE
    torch_flagos flagos::torch MUSA::musart GTest::gtest_main)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  flagos_warnings(${name})
  target_link_options(${name} PRIVATE
    "-Wl,-rpath,${FLAGOS_TORCH_ROOT}/lib" -Wl,--unresolved-symbols=ignore-in-shared-libs)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS cpp TIMEOUT 300)
endfunction()
