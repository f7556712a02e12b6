# SPDX-License-Identifier: Apache-2.0
# flagos_warnings(target...): the project's warnings, as errors unless FLAGOS_WERROR=OFF.
# Headers of torch and of the toolkit's vendor come in as SYSTEM and stay silent.
include_guard(GLOBAL)

function(flagos_warnings)
  set(_warnings -Wall -Wextra -Wsign-conversion -Wnon-virtual-dtor -Wmissing-declarations)
  if(NOT DEFINED FLAGOS_WERROR OR FLAGOS_WERROR)
    list(APPEND _warnings -Werror)
  endif()
  list(TRANSFORM _warnings PREPEND "-Xcompiler=" OUTPUT_VARIABLE _forwarded)
  foreach(target ${ARGN})
    # nvcc hands them to the host's compiler.
    target_compile_options(${target} PRIVATE
      "$<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:${_warnings}>"
      "$<$<COMPILE_LANGUAGE:CUDA>:${_forwarded}>")
  endforeach()
endfunction()
