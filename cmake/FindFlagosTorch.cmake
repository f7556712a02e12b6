# SPDX-License-Identifier: Apache-2.0
# Imported targets for the torch at hand.  Not find_package(Torch): that one looks for a
# CUDA toolkit as soon as the wheel was built with CUDA.
#   FLAGOS_TORCH_ROOT  a folder with include/ and lib/ (default: the torch of Python)
# Defines flagos::torch (the C++ core), flagos::torch_python, FLAGOS_TORCH_VERSION and
# FLAGOS_TORCH_CXX11_ABI.
if(NOT FLAGOS_TORCH_ROOT)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c
            "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
    OUTPUT_VARIABLE FLAGOS_TORCH_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
set(_inc "${FLAGOS_TORCH_ROOT}/include")
set(_lib "${FLAGOS_TORCH_ROOT}/lib")
if(NOT EXISTS "${_inc}/torch/headeronly/version.h")
  flagos_error("${Python_EXECUTABLE} has no torch with C++ headers: `pip install torch==2.13.0` first.")
endif()

file(STRINGS "${_inc}/torch/headeronly/version.h" _lines
     REGEX "#define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
foreach(_part MAJOR MINOR PATCH)
  string(REGEX MATCH "TORCH_VERSION_${_part} ([0-9]+)" _ "${_lines}")
  set(_${_part} "${CMAKE_MATCH_1}")
endforeach()
set(FLAGOS_TORCH_VERSION "${_MAJOR}.${_MINOR}.${_PATCH}")
if(FLAGOS_TORCH_VERSION VERSION_LESS 2.10)
  flagos_error("torch ${FLAGOS_TORCH_VERSION} is too old, 2.10 or newer is needed: `pip install torch==2.13.0` first.")
endif()

# The C++ ABI shows in the mangled name of any function that takes a std::string.
file(STRINGS "${_lib}/libc10.so" _abi REGEX "_ZN3c10.*NSt7__cxx1112basic_string"
     LIMIT_COUNT 1)
if(_abi)
  set(FLAGOS_TORCH_CXX11_ABI 1)
else()
  set(FLAGOS_TORCH_CXX11_ABI 0)
endif()

foreach(_name c10 torch_cpu torch_python)
  add_library(flagos_${_name} SHARED IMPORTED)
  set_target_properties(flagos_${_name} PROPERTIES
    IMPORTED_LOCATION "${_lib}/lib${_name}.so" IMPORTED_SONAME "lib${_name}.so")
  target_include_directories(flagos_${_name} SYSTEM INTERFACE
    "${_inc}" "${_inc}/torch/csrc/api/include")
  # The version stands in every command line: a torch swapped in place recompiles all,
  # whatever the times of its headers are.
  target_compile_definitions(flagos_${_name} INTERFACE
    FLAGOS_TORCH_VERSION="${FLAGOS_TORCH_VERSION}"
    _GLIBCXX_USE_CXX11_ABI=${FLAGOS_TORCH_CXX11_ABI})
endforeach()
add_library(flagos_torch INTERFACE)
target_link_libraries(flagos_torch INTERFACE flagos_torch_cpu flagos_c10)
add_library(flagos::torch ALIAS flagos_torch)
add_library(flagos::torch_python ALIAS flagos_torch_python)
set(FlagosTorch_FOUND TRUE)
