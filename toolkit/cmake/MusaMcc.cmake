# SPDX-License-Identifier: Apache-2.0
# bin/mcc: one script, filled in for the engine.  It finds headers and libraries beside
# itself, so the build tree has bin/, include/ and lib/ as the installed one has.
if(MUSA_ENGINE STREQUAL "cuda")
  set(MUSA_MCC_COMPILER "${CMAKE_CUDA_COMPILER}")
  list(JOIN CMAKE_CUDA_ARCHITECTURES " " MUSA_MCC_ARCHITECTURES)
  string(REGEX REPLACE "-(real|virtual)" "" MUSA_MCC_ARCHITECTURES
         "${MUSA_MCC_ARCHITECTURES}")
else()
  set(MUSA_MCC_COMPILER "${CMAKE_CXX_COMPILER}")
  set(MUSA_MCC_ARCHITECTURES "")
endif()
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
configure_file(mcc/mcc.in "${PROJECT_BINARY_DIR}/bin/mcc" @ONLY
  FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                   WORLD_READ WORLD_EXECUTE)
if(NOT EXISTS "${PROJECT_BINARY_DIR}/include")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/include" "${PROJECT_BINARY_DIR}/include"
       SYMBOLIC)
endif()
install(PROGRAMS "${PROJECT_BINARY_DIR}/bin/mcc" COMPONENT toolkit
        DESTINATION "${MUSA_INSTALL_PREFIX}bin")
