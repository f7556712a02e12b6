# SPDX-License-Identifier: Apache-2.0
# A folder shaped like a MUSA_HOME: include/, lib/, lib/cmake/musa.
set(_lib "${MUSA_INSTALL_PREFIX}lib")
set(_libraries musa_portable musart mudnncxx mudnn murand)

if(PROJECT_IS_TOP_LEVEL)
  install(TARGETS ${_libraries} EXPORT musa LIBRARY DESTINATION "${_lib}")
  install(EXPORT musa NAMESPACE MUSA:: DESTINATION "${_lib}/cmake/musa"
          FILE musa-config.cmake)
else()
  # A wheel holds no links: only the files that the loader opens.
  install(TARGETS ${_libraries} LIBRARY DESTINATION "${_lib}"
          COMPONENT toolkit NAMELINK_SKIP)
endif()
install(PROGRAMS ${MUSA_ENGINE_FILES} DESTINATION "${_lib}" COMPONENT toolkit)
if(MUSA_ENGINE_LICENSES)
  install(FILES ${MUSA_ENGINE_LICENSES} COMPONENT toolkit
          DESTINATION "${MUSA_INSTALL_PREFIX}share/doc/musa_portable/onednn")
endif()
install(DIRECTORY include/ DESTINATION "${MUSA_INSTALL_PREFIX}include"
        COMPONENT toolkit FILES_MATCHING PATTERN "*.h")
