# SPDX-License-Identifier: Apache-2.0
# flagos_warnings(target...): the project's warnings, as errors unless FLAGOS_WERROR=OFF.
# Headers of torch and of the toolkit's vendor come in as SYSTEM and stay silent.
include_guard(GLOBAL)

function(flagos_warnings)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE
      -Wall -Wextra -Wsign-conversion -Wnon-virtual-dtor -Wmissing-declarations)
    if(NOT DEFINED FLAGOS_WERROR OR FLAGOS_WERROR)
      target_compile_options(${target} PRIVATE -Werror)
    endif()
  endforeach()
endfunction()
