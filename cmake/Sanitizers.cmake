# SPDX-License-Identifier: Apache-2.0
# FLAGOS_SANITIZE=address (with undefined) or thread: for everything below this folder.
include_guard(GLOBAL)

set(FLAGOS_SANITIZE "" CACHE STRING "empty, address or thread")
if(FLAGOS_SANITIZE STREQUAL "address")
  # vptr needs type information across libraries, where the engine exports none.
  # enum stops where a number that is no enumerator is read; a caller in C may pass any
  # to an API function, and to answer it with an error the function has to read it.
  set(_flags -fsanitize=address,undefined -fno-sanitize=vptr,enum
             -fno-sanitize-recover=undefined)
elseif(FLAGOS_SANITIZE STREQUAL "thread")
  set(_flags -fsanitize=thread)
elseif(FLAGOS_SANITIZE)
  message(FATAL_ERROR
    "FLAGOS_SANITIZE=${FLAGOS_SANITIZE} does not exist: use address or thread.")
endif()
if(FLAGOS_SANITIZE)
  add_compile_options(${_flags} -fno-omit-frame-pointer -g1)
  add_link_options(${_flags})
endif()
