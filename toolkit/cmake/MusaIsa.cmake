# SPDX-License-Identifier: Apache-2.0
# musa_isa_sources(target source...): compiles each source once per instruction set, with
# MUSA_ISA defined (engine/cpu/isa.h says what such a source looks like).
include_guard(GLOBAL)
include(Warnings)

set(MUSA_ISA_FLAGS_baseline "")
set(MUSA_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(MUSA_ISA_FLAGS_avx512 -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl
    -mprefer-vector-width=512)

function(musa_isa_sources target)
  list(GET ARGN 0 _first)
  get_filename_component(_stem "${_first}" NAME_WE)
  foreach(_isa baseline avx2 avx512)
    set(_object "${target}_${_stem}_${_isa}")
    add_library(${_object} OBJECT ${ARGN})
    target_include_directories(${_object} PRIVATE "${PROJECT_SOURCE_DIR}/..")
    target_compile_definitions(${_object} PRIVATE MUSA_ISA=${_isa})
    # Errors of the C library and floating-point traps are not looked at; nothing else of
    # -ffast-math.  Sinking would move the costly side of a choice into a branch, and the
    # loop would not vectorise.  Always optimised: inlining keeps shared inline functions out.
    target_compile_options(${_object} PRIVATE
      -O3 -fno-math-errno -fno-trapping-math -fno-tree-sink -fopenmp-simd ${MUSA_ISA_FLAGS_${_isa}})
    flagos_warnings(${_object})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${_object}>)
  endforeach()
endfunction()
