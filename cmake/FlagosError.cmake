# SPDX-License-Identifier: Apache-2.0
# Errors of one sentence.  Under pip, build_backend/ names a file in the environment
# and prints the sentence once more after CMake's own output.
include_guard(GLOBAL)

function(flagos_error sentence)
  if(DEFINED ENV{FLAGOS_ERROR_FILE})
    file(WRITE "$ENV{FLAGOS_ERROR_FILE}" "${sentence}\n")
  endif()
  message(FATAL_ERROR "${sentence}")
endfunction()

# CMake itself takes any word ("maybe") as a switch.
function(flagos_check_switch name)
  string(TOUPPER "${${name}}" value)
  if(NOT value MATCHES "^(ON|OFF|1|0|TRUE|FALSE|YES|NO)$")
    flagos_error("${name}=${${name}} is not a switch: use ON or OFF.")
  endif()
endfunction()
