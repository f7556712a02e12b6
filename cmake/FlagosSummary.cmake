# SPDX-License-Identifier: Apache-2.0
# The last lines of the configure step: what is being built from what.
if(FLAGOS_MUSA_HOME)
  set(_toolkit "${FLAGOS_TOOLKIT}, ${FLAGOS_MUSA_HOME}")
else()
  set(_toolkit "${FLAGOS_TOOLKIT}, built here, engine cpu")
endif()
if(NOT FLAGOS_SANITIZE)
  set(_sanitize none)
else()
  set(_sanitize ${FLAGOS_SANITIZE})
endif()
message(STATUS "torch_fl is configured:
   torch        ${FLAGOS_TORCH_VERSION}  ${FLAGOS_TORCH_ROOT}
   C++          C++${CMAKE_CXX_STANDARD}, ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, ${CMAKE_BUILD_TYPE}
   Python       ${Python_VERSION}  ${Python_EXECUTABLE}
   toolkit      ${_toolkit}
   accelerator  ${FLAGOS_ACCELERATOR}
   switches     VENDOR ${FLAGOS_BUILD_VENDOR}  KERNELS ${FLAGOS_BUILD_KERNELS}  FLAGGEMS ${FLAGOS_BUILD_FLAGGEMS}  BOXING OFF  FLAGGEMS_CPP OFF
   development  TESTS ${FLAGOS_BUILD_TESTS}  WERROR ${FLAGOS_WERROR}  SANITIZE ${_sanitize}  LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER}")
