# SPDX-License-Identifier: Apache-2.0
# Refuses a compiler that puts a copy of the C++ standard library into every library it
# links.  Torch's own is shared; with two in a process, the first number that one of ours
# formats ends it (seen with a GCC 13 that was installed without libstdc++.so).
include_guard(GLOBAL)

set(_source "${CMAKE_BINARY_DIR}/CMakeFiles/standard_library.cpp")
set(_library "${CMAKE_BINARY_DIR}/CMakeFiles/standard_library.so")
file(WRITE "${_source}" "#include <sstream>
std::string text(int i) { std::ostringstream s; s << i; return s.str(); }
")
execute_process(
  COMMAND "${CMAKE_CXX_COMPILER}" -shared -fPIC "${_source}" -o "${_library}"
  RESULT_VARIABLE _failed OUTPUT_QUIET ERROR_QUIET)
execute_process(COMMAND "${CMAKE_READELF}" -d "${_library}"
                OUTPUT_VARIABLE _dynamic ERROR_QUIET)
if(NOT _failed AND NOT _dynamic MATCHES "NEEDED[^\n]*(libstdc|libc)[+][+]")
  set(_sentence "${CMAKE_CXX_COMPILER} puts a C++ standard library of its own into every library, which does not work beside torch's shared one: name another compiler, such as CXX=/usr/bin/g++.")
  if(COMMAND flagos_error)
    flagos_error("${_sentence}")
  endif()
  message(FATAL_ERROR "${_sentence}")
endif()
