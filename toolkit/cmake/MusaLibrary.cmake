# SPDX-License-Identifier: Apache-2.0
# musa_library(name [ENGINE] [SOVERSION n]): a library of the toolkit, without sources;
# the rooms add theirs with target_sources.  musa_error(sentence): stop with a sentence.
include_guard(GLOBAL)
include(Warnings)
include(FlagosError)
find_package(Threads REQUIRED)

function(musa_error sentence)
  flagos_error("${sentence}")
endfunction()

function(musa_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ENGINE" "SOVERSION" "")
  add_library(${name} SHARED)
  add_library(MUSA::${name} ALIAS ${name})
  set_target_properties(${name} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY "${MUSA_STAGE}"
    BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "$ORIGIN")
  if(arg_SOVERSION)
    set_target_properties(${name} PROPERTIES SOVERSION ${arg_SOVERSION})
  endif()
  # Ours by path from the root; the public headers by name, as users include them.
  target_include_directories(${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
           $<INSTALL_INTERFACE:${MUSA_INSTALL_PREFIX}include>
    PRIVATE "${PROJECT_SOURCE_DIR}/..")
  # DT_RPATH, so that LD_LIBRARY_PATH cannot mix two toolkits; never unloaded, since
  # threads of the engine may stand in its code.
  target_link_options(${name} PRIVATE
    -Wl,--disable-new-dtags -Wl,-z,nodelete)
  if(NOT FLAGOS_SANITIZE)
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
  target_link_libraries(${name} PRIVATE Threads::Threads)
  flagos_warnings(${name})
endfunction()
