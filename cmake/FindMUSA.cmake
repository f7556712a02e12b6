# SPDX-License-Identifier: Apache-2.0
# The toolkit in FLAGOS_MUSA_HOME, a vendor's or a portable one, as the same targets that
# the toolkit of this tree makes: MUSA::musart, MUSA::mudnncxx, MUSA::murand.
# Defines FLAGOS_TOOLKIT ("vendor" or "portable-N") and FLAGOS_TOOLKIT_LIBRARIES (the
# SONAMEs that the loader opens, in order).
foreach(_need musa_runtime.h murand.h)
  if(NOT EXISTS "${FLAGOS_MUSA_HOME}/include/${_need}")
    flagos_error("MUSA_HOME=${FLAGOS_MUSA_HOME} has no include/${_need}: point it at a MUSA toolkit, or unset it to build the portable one.")
  endif()
endforeach()
# muDNN's C++ classes: mudnncxx/mudnn.h and libmudnncxx from SDK 5.1 on, mudnn.h and
# libmudnn before.
if(EXISTS "${FLAGOS_MUSA_HOME}/include/mudnncxx/mudnn.h")
  set(_mudnn mudnncxx)
elseif(EXISTS "${FLAGOS_MUSA_HOME}/include/mudnn.h")
  set(_mudnn mudnn)
else()
  flagos_error("MUSA_HOME=${FLAGOS_MUSA_HOME} has no muDNN headers (include/mudnncxx/mudnn.h or include/mudnn.h): install muDNN there, or unset MUSA_HOME to build the portable toolkit.")
endif()

set(FLAGOS_TOOLKIT_LIBRARIES "")
foreach(_pair musart=musart mudnncxx=${_mudnn} murand=murand)
  string(REGEX MATCH "^(.*)=(.*)$" _ "${_pair}")
  set(_target ${CMAKE_MATCH_1})
  set(_name ${CMAKE_MATCH_2})
  # A toolkit inside a Python package has no links, only the files that are loaded.
  find_library(_file NAMES ${_name} lib${_name}.so.5 lib${_name}.so.3
               PATHS "${FLAGOS_MUSA_HOME}/lib" NO_DEFAULT_PATH NO_CACHE)
  if(NOT _file)
    flagos_error("MUSA_HOME=${FLAGOS_MUSA_HOME} has no lib/lib${_name}.so: point it at a complete MUSA toolkit, or unset it to build the portable one.")
  endif()
  add_library(MUSA::${_target} SHARED IMPORTED)
  set_target_properties(MUSA::${_target} PROPERTIES IMPORTED_LOCATION "${_file}")
  target_include_directories(MUSA::${_target} SYSTEM INTERFACE
    "${FLAGOS_MUSA_HOME}/include")
  execute_process(COMMAND ${CMAKE_READELF} -d "${_file}" OUTPUT_VARIABLE _dynamic)
  if(_dynamic MATCHES "SONAME[^[]*\\[([^]]+)\\]")
    list(APPEND FLAGOS_TOOLKIT_LIBRARIES "${CMAKE_MATCH_1}")
  else()
    list(APPEND FLAGOS_TOOLKIT_LIBRARIES "lib${_name}.so")
  endif()
  unset(_file)
endforeach()

if(EXISTS "${FLAGOS_MUSA_HOME}/include/musa_portable.h")
  set(FLAGOS_TOOLKIT portable-1)
else()
  set(FLAGOS_TOOLKIT vendor)
endif()
set(MUSA_FOUND TRUE)
